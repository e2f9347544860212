"""What a log holds in all."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from uuid import uuid4

import pytest
from sqlalchemy import text
from tests.server.query_log.entries import entry, ledger, of

from bookbound.domain.errors import ConfigError
from bookbound.server.query_log import schema
from bookbound.server.query_log import unflushed as module
from bookbound.server.query_log.database import QueryLogDatabase
from bookbound.server.query_log.history import QueryLogTotals, count_totals
from bookbound.server.query_log.repository import LossReport
from bookbound.server.query_log.unflushed import UnflushedEntries, report_unflushed


@pytest.fixture(autouse=True)
def apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No file of another test is met among those that the system clears."""
    monkeypatch.setattr(module, "passing", lambda: tmp_path / "passing")


def test_rows_sessions_losses_and_the_oldest_question_are_told(
    url: str, tmp_path: Path, database: QueryLogDatabase
) -> None:
    writing = ledger(url, tmp_path)
    oldest = entry(ago=timedelta(days=3), asker=of())
    writing.write([oldest, entry(asker=of()), entry()], LossReport(4))
    writing.write([], LossReport(2))
    writing.close()
    assert count_totals(database, tmp_path) == QueryLogTotals(schema.LATEST_REVISION, 3, 1, oldest.created, 6, 0)


def test_what_dead_processes_left_is_counted_without_what_is_a_row_and_stays(
    url: str, tmp_path: Path, database: QueryLogDatabase
) -> None:
    writing, written = ledger(url, tmp_path), entry()
    writing.write([written])
    for noted in ([written.id, uuid4()], [uuid4(), uuid4()]):
        process = UnflushedEntries(tmp_path, database.name)
        for each in noted:
            process.add(each)
        process.lose(noted[-1])
        process.close()
    living = UnflushedEntries(tmp_path, database.name)
    living.add(uuid4())
    for _ in range(2):
        held = count_totals(database, tmp_path)
        assert (held.questions, held.lost, held.outstanding) == (1, 0, 3)
    assert report_unflushed(tmp_path, writing) == 3
    writing.close()
    held = count_totals(database, tmp_path)
    assert (held.lost, held.outstanding) == (3, 0)
    living.close()


def test_a_log_that_nobody_has_written_holds_nothing_and_is_not_made(
    database: QueryLogDatabase, tmp_path: Path
) -> None:
    process = UnflushedEntries(tmp_path, database.name)
    process.add(uuid4())
    process.close()
    missing = database.missing
    assert count_totals(database, tmp_path) == QueryLogTotals(outstanding=1)
    assert database.missing is missing


def test_a_log_of_another_version_is_told(database: QueryLogDatabase, tmp_path: Path) -> None:
    schema.migrate(database, "0002")
    with pytest.raises(ConfigError, match="bookbound log upgrade"):
        count_totals(database, tmp_path)
    with database.begin() as connection:
        connection.execute(text(f"UPDATE {schema.VERSION_TABLE} SET version_num = '0999'"))
    with pytest.raises(ConfigError, match="newer version"):
        count_totals(database, tmp_path)


def test_times_are_in_utc(url: str, tmp_path: Path, database: QueryLogDatabase) -> None:
    writing = ledger(url, tmp_path)
    writing.write([entry(created=datetime(2027, 3, 1, 12, tzinfo=UTC))])
    writing.close()
    assert count_totals(database, tmp_path).oldest == datetime(2027, 3, 1, 12, tzinfo=UTC)
