"""What is past its time goes, for good, and nothing else does."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from uuid import UUID

from sqlalchemy import text
from tests.server.query_log.conftest import Rows
from tests.server.query_log.entries import closed, entry, journal, ledger, of, refused, until

from bookbound.domain.book_ref import BookRef
from bookbound.server.query_log import repository as ledgers
from bookbound.server.query_log import schema
from bookbound.server.query_log.database import QueryLogDatabase
from bookbound.server.query_log.repository import LossReport, delete_older_than

OLD, NEW = UUID(int=1), UUID(int=2)
ROBOTS = BookRef("robots", "2.0")


def write(url: str, folder: Path) -> None:
    writing = ledger(url, folder)
    old = timedelta(days=91)
    writing.write(
        [
            entry("old and answered", old, asker=of(OLD), chapters=("Gaits",), volume=ROBOTS),
            refused("old and refused", ago=old, asker=of(NEW)),
            entry("old, of nobody", old),
            entry("new", timedelta(days=89), asker=of(NEW), chapters=("Gaits",), volume=ROBOTS),
        ],
        LossReport(3, created=datetime.now(UTC) - old),
    )
    writing.close()


def left(rows: Rows) -> tuple[set[str], set[UUID], int, int]:
    return (
        {row["query_text"] for row in rows("SELECT query_text FROM queries")},
        {UUID(str(row["session_id"])) for row in rows("SELECT session_id FROM query_sessions")},
        len(rows("SELECT query_id FROM query_chapters UNION SELECT query_id FROM query_volumes")),
        len(rows("SELECT * FROM query_losses")),
    )


def test_a_purge_takes_what_is_older_with_all_that_hangs_on_it(
    url: str, tmp_path: Path, database: QueryLogDatabase, rows: Rows
) -> None:
    write(url, tmp_path)
    assert left(rows)[2:] == (2, 1)
    assert delete_older_than(database, datetime.now(UTC) - timedelta(days=90)) == 3
    assert left(rows) == ({"new"}, {NEW}, 1, 0)
    assert delete_older_than(database, datetime.now(UTC) - timedelta(days=90)) == 0
    assert delete_older_than(database, datetime.now(UTC)) == 1
    assert left(rows) == (set(), set(), 0, 0)


def test_a_session_that_still_has_a_question_stays(database: QueryLogDatabase, rows: Rows) -> None:
    schema.migrate(database)
    with database.begin() as connection:
        for table, values in (
            ("query_sessions (session_id, created_at)", "'2001-01-01 00:00:00'"),
            ("queries (session_id, query_text, mode, status)", "'new', 'standard_rag', 'error'"),
        ):
            connection.execute(text(f"INSERT INTO {table} VALUES ('{OLD.hex}', {values})"))
    assert delete_older_than(database, datetime.now(UTC) - timedelta(days=90)) == 0
    assert left(rows)[:2] == ({"new"}, {OLD})


def test_a_purge_goes_on_after_the_first_portion(
    url: str, tmp_path: Path, database: QueryLogDatabase, rows: Rows
) -> None:
    writing = ledger(url, tmp_path)
    writing.write([entry(ago=timedelta(days=91)) for _ in range(ledgers.DELETE_BATCH_SIZE + 20)])
    writing.close()
    assert delete_older_than(database, datetime.now(UTC) - timedelta(days=90)) == ledgers.DELETE_BATCH_SIZE + 20


def test_a_journal_tidies_as_it_starts(url: str, tmp_path: Path, rows: Rows) -> None:
    write(url, tmp_path)
    noting = journal(url, tmp_path)
    until(lambda: left(rows)[:2] == ({"new"}, {NEW}))
    noting.note(entry("newest"))
    assert closed(noting) == (1, 1, 0)
    assert left(rows)[0] == {"new", "newest"}


def test_what_was_purged_is_gone_from_the_bytes_of_a_file(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'questions.db'}"
    writing = ledger(url, tmp_path)
    writing.write([entry(f"MARKER {number}?", timedelta(days=91)) for number in range(200)])
    writing.close()
    looking = QueryLogDatabase(url, tmp_path)
    assert any(b"MARKER" in file.read_bytes() for file in tmp_path.iterdir())
    delete_older_than(looking, datetime.now(UTC) - timedelta(days=90))
    assert not any(b"MARKER" in file.read_bytes() for file in tmp_path.iterdir())
    looking.close()
