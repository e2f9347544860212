"""What was logged is read back."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from uuid import UUID

import pytest
from tests.server.query_log.entries import entry, ledger, of, refused

from bookbound.domain.book_ref import BookRef
from bookbound.domain.errors import ConfigError
from bookbound.domain.query_log_entry import QueryMode, QueryStatus
from bookbound.server.query_log import schema
from bookbound.server.query_log.database import QueryLogDatabase
from bookbound.server.query_log.history import open_snapshot
from bookbound.server.query_log.repository import LossReport

SINCE = datetime.now(UTC) - timedelta(days=30)


def test_what_was_logged_from_a_time_on_is_read_in_its_order(
    url: str, tmp_path: Path, database: QueryLogDatabase
) -> None:
    writing = ledger(url, tmp_path)
    writing.write(
        [
            entry("too old", timedelta(days=31), chapters=("Gaits",), asker=of()),
            refused("second", mode=QueryMode.SELECTION, milliseconds=7),
            entry("first", timedelta(hours=2), chapters=("Gaits", "Drives"), asker=of()),
            entry("third", -timedelta(hours=1), chapters=("Drives",), asker=of()),
        ],
        LossReport(3),
    )
    writing.write([], LossReport(4))
    writing.close()
    with open_snapshot(database, SINCE) as log:
        asked = list(log.questions())
        assert [each.question for each in asked] == ["first", "second", "third"]
        second = asked[1]
        assert (second.mode, second.status, second.refusal) == (
            QueryMode.SELECTION,
            QueryStatus.REFUSED,
            "low_relevance",
        )
        assert (second.milliseconds, second.created.tzinfo) == (7, UTC)
        assert log.chapters() == {("", "Drives"): 2, ("", "Gaits"): 1}
        assert (log.sessions(), log.lost()) == (1, 7)


MEANT = [
    (BookRef(), {"unnamed"}, 1),
    (BookRef("robots"), {"of robots", "of the first", "of the second"}, 1),
    (BookRef("robots", "2.0"), {"of the second"}, 1),
    (BookRef("ro"), set(), 0),
    (BookRef("all"), {"unnamed", "of robots", "of the first", "of the second", "of ants", "of all"}, 2),
]


def test_the_log_of_a_book_is_that_of_its_editions_and_of_all_it_is_everything(
    url: str, tmp_path: Path, database: QueryLogDatabase
) -> None:
    writing = ledger(url, tmp_path)
    writing.write(
        [
            entry("too old", timedelta(days=31), volume=BookRef("robots")),
            entry("unnamed", chapters=("Gaits",), asker=of()),
            entry("of robots", chapters=("Gaits",), volume=BookRef("robots")),
            entry("of the first", chapters=("Gaits",), volume=BookRef("robots", "1.0")),
            entry("of the second", volume=BookRef("robots", "2.0"), chapters=("Drives",), asker=of(UUID(int=5))),
            refused("of ants", volume=BookRef("ants")),
            entry("of all", volume=BookRef("all"), chapters=("Gaits",), asker=of()),
        ]
    )
    writing.close()
    for volume, questions, sessions in MEANT:
        with open_snapshot(database, SINCE, volume) as log:
            asked = list(log.questions())
            assert {each.question for each in asked} == questions
            assert all(volume.holds(each.volume) for each in asked)
            assert (log.sessions(), log.elsewhere()) == (sessions, 6 - len(questions))
    with open_snapshot(database, SINCE, BookRef("robots")) as log:
        assert log.chapters() == {("robots", "Gaits"): 2, ("robots", "Drives"): 1}
    with open_snapshot(database, SINCE) as log:
        assert log.chapters()["all", "Gaits"] == 1
        assert {each.volume for each in log.questions() if each.question == "unnamed"} == {BookRef()}


def test_a_log_that_nobody_has_written_is_empty_and_is_not_made(database: QueryLogDatabase) -> None:
    before = database.missing
    with open_snapshot(database, SINCE) as log:
        assert (list(log.questions()), log.chapters()) == ([], {})
        assert (log.sessions(), log.lost(), log.elsewhere()) == (0, 0, 0)
    assert database.missing is before


@pytest.mark.parametrize("step", ["0001", "0002"])
def test_a_log_of_an_older_version_is_told(database: QueryLogDatabase, step: str) -> None:
    schema.migrate(database, step)
    with pytest.raises(ConfigError, match="bookbound log upgrade"), open_snapshot(database, SINCE):
        pass


def test_what_is_read_is_of_one_moment(url: str, tmp_path: Path, database: QueryLogDatabase) -> None:
    writing = ledger(url, tmp_path)
    writing.write([entry(chapters=("Gaits",))])
    with open_snapshot(database, SINCE) as log:
        assert len(list(log.questions())) == 1
        writing.write([entry(chapters=("Gaits",))])
        assert log.chapters() == {("", "Gaits"): 1}
    writing.close()
