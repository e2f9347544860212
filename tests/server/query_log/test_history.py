"""What was logged is read back."""

from __future__ import annotations

from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from uuid import UUID

import pytest
from sqlalchemy import text
from tests.server.query_log.factories import (
    make_entry,
    make_refused_entry,
    make_repository,
    make_requester,
    make_unsure_entry,
)

from bookbound.domain.book_ref import BookRef
from bookbound.domain.errors import ConfigError
from bookbound.domain.trace import QueryMode, QueryStatus
from bookbound.server.query_log import LossReport, schema
from bookbound.server.query_log.database import QueryLogDatabase
from bookbound.server.query_log.history import QueryLogTotals, count_totals, open_snapshot

SINCE = datetime.now(UTC) - timedelta(days=30)


def test_a_snapshot_reads_everything_from_a_time_on_in_order(
    url: str, tmp_path: Path, database: QueryLogDatabase
) -> None:
    with closing(make_repository(url, tmp_path)) as repository:
        entries = [
            make_entry("too old", timedelta(days=31), chapters=("Gaits",), requester=make_requester()),
            make_refused_entry("second", mode=QueryMode.SELECTION, milliseconds=7),
            make_entry("first", timedelta(hours=2), chapters=("Gaits", "Drives"), requester=make_requester()),
            make_entry("third", -timedelta(hours=1), chapters=("Drives",), requester=make_requester()),
        ]
        repository.write(entries, LossReport(3))
        repository.write([], LossReport(4))
    with open_snapshot(database, SINCE) as log:
        questions = list(log.questions())
        assert [each.question for each in questions] == ["first", "second", "third"]
        second = questions[1]
        assert (second.mode, second.status, second.refusal_reason) == (
            QueryMode.SELECTION,
            QueryStatus.REFUSED,
            "low_relevance",
        )
        assert (second.milliseconds, second.created_at.tzinfo) == (7, UTC)
        assert log.count_chapters() == {("", "Drives"): 2, ("", "Gaits"): 1}
        assert (log.count_sessions(), log.count_lost()) == (1, 7)


def test_an_unsure_reply_is_stored_as_a_refusal_and_read_back(
    url: str, tmp_path: Path, database: QueryLogDatabase
) -> None:
    with closing(make_repository(url, tmp_path)) as repository:
        repository.write([make_unsure_entry(), make_refused_entry(ago=-timedelta(hours=1))])
    with database.read() as connection:
        rows = connection.execute(text("SELECT status, refusal_reason FROM queries ORDER BY created_at")).all()
    assert rows == [("refused", "unsure"), ("refused", "low_relevance")]
    with open_snapshot(database, SINCE) as log:
        assert [each.status for each in log.questions()] == [QueryStatus.UNSURE, QueryStatus.REFUSED]


BOOK_SELECTIONS = [
    (BookRef(), {"unnamed"}, 1),
    (BookRef("robots"), {"of robots", "of the first", "of the second"}, 1),
    (BookRef("robots", "2.0"), {"of the second"}, 1),
    (BookRef("ro"), set(), 0),
    (BookRef("all"), {"unnamed", "of robots", "of the first", "of the second", "of ants", "of all"}, 2),
]


def test_a_snapshot_has_all_editions_of_a_book_or_all_books(
    url: str, tmp_path: Path, database: QueryLogDatabase
) -> None:
    second = BookRef("robots", "2.0")
    entries = [
        make_entry("too old", timedelta(days=31), book_ref=BookRef("robots")),
        make_entry("unnamed", chapters=("Gaits",), requester=make_requester()),
        make_entry("of robots", chapters=("Gaits",), book_ref=BookRef("robots")),
        make_entry("of the first", chapters=("Gaits",), book_ref=BookRef("robots", "1.0")),
        make_entry("of the second", chapters=("Drives",), book_ref=second, requester=make_requester(UUID(int=5))),
        make_refused_entry("of ants", book_ref=BookRef("ants")),
        make_entry("of all", book_ref=BookRef("all"), chapters=("Gaits",), requester=make_requester()),
    ]
    with closing(make_repository(url, tmp_path)) as repository:
        repository.write(entries)
    for book_ref, expected, sessions in BOOK_SELECTIONS:
        with open_snapshot(database, SINCE, book_ref) as log:
            assert {each.question for each in log.questions()} == expected
            assert (log.count_sessions(), log.count_other_books()) == (sessions, 6 - len(expected))
    with open_snapshot(database, SINCE, BookRef("robots")) as log:
        assert log.count_chapters() == {("robots", "Gaits"): 2, ("robots", "Drives"): 1}
    with open_snapshot(database, SINCE) as log:
        assert log.count_chapters()["all", "Gaits"] == 1
        assert {each.book_ref for each in log.questions() if each.question == "unnamed"} == {BookRef()}


def test_a_log_that_does_not_exist_reads_as_empty_and_is_not_created(database: QueryLogDatabase) -> None:
    is_missing = database.is_missing
    with open_snapshot(database, SINCE) as log:
        assert (list(log.questions()), log.count_chapters()) == ([], {})
        assert (log.count_sessions(), log.count_lost(), log.count_other_books()) == (0, 0, 0)
    assert count_totals(database) == QueryLogTotals("nothing", 0, 0, None, 0)
    assert database.is_missing is is_missing


def test_a_log_of_another_version_is_an_error(database: QueryLogDatabase) -> None:
    for step in ("0002", "0001"):
        schema.migrate(database, step)
        with pytest.raises(ConfigError, match="bookbound log upgrade"), open_snapshot(database, SINCE):
            pass
        with pytest.raises(ConfigError, match="bookbound log upgrade"):
            count_totals(database)
    with database.begin() as connection:
        connection.execute(text("UPDATE query_log_version SET version_num = '0999'"))
    with pytest.raises(ConfigError, match="newer version"):
        count_totals(database)


def test_a_snapshot_sees_one_moment(url: str, tmp_path: Path, database: QueryLogDatabase) -> None:
    with closing(make_repository(url, tmp_path)) as repository:
        repository.write([make_entry(chapters=("Gaits",))])
        with open_snapshot(database, SINCE) as log:
            assert len(list(log.questions())) == 1
            repository.write([make_entry(chapters=("Gaits",))])
            assert log.count_chapters() == {("", "Gaits"): 1}


def test_totals_count_rows_sessions_and_losses(url: str, tmp_path: Path, database: QueryLogDatabase) -> None:
    oldest = make_entry(created_at=datetime(2027, 3, 1, 12, tzinfo=UTC), requester=make_requester())
    with closing(make_repository(url, tmp_path)) as repository:
        repository.ensure_tables()
        assert count_totals(database) == QueryLogTotals("0004", 0, 0, None, 0)
        later = make_entry(created_at=oldest.created_at + timedelta(days=1), requester=make_requester())
        repository.write([oldest, later, make_entry(created_at=later.created_at)], LossReport(4))
        repository.write([], LossReport(2))
    assert count_totals(database) == QueryLogTotals("0004", 3, 1, oldest.created_at, 6, answered=3)
