"""What was logged is read back."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from uuid import UUID

import pytest
from tests.record.entries import entry, ledger, of, refused

from bookbound.entry import Mode, Status
from bookbound.errors import BadSetup
from bookbound.record import schema
from bookbound.record.database import Database
from bookbound.record.ledger import Loss
from bookbound.record.reading import reading
from bookbound.volume import Volume

SINCE = datetime.now(UTC) - timedelta(days=30)


def test_what_was_logged_from_a_time_on_is_read_in_its_order(url: str, tmp_path: Path, database: Database) -> None:
    writing = ledger(url, tmp_path)
    writing.write(
        [
            entry("too old", timedelta(days=31), chapters=("Gaits",), asker=of()),
            refused("second", mode=Mode.SELECTION, milliseconds=7),
            entry("first", timedelta(hours=2), chapters=("Gaits", "Drives"), asker=of()),
            entry("third", -timedelta(hours=1), chapters=("Drives",), asker=of()),
        ],
        Loss(3),
    )
    writing.write([], Loss(4))
    writing.close()
    with reading(database, SINCE) as log:
        asked = list(log.questions())
        assert [each.question for each in asked] == ["first", "second", "third"]
        second = asked[1]
        assert (second.mode, second.status, second.refusal) == (Mode.SELECTION, Status.REFUSED, "low_relevance")
        assert (second.milliseconds, second.created.tzinfo) == (7, UTC)
        assert log.chapters() == {("", "Drives"): 2, ("", "Gaits"): 1}
        assert (log.sessions(), log.lost()) == (1, 7)


MEANT = [
    (Volume(), {"unnamed"}, 1),
    (Volume("robots"), {"of robots", "of the first", "of the second"}, 1),
    (Volume("robots", "2.0"), {"of the second"}, 1),
    (Volume("ro"), set(), 0),
    (Volume("all"), {"unnamed", "of robots", "of the first", "of the second", "of ants", "of all"}, 2),
]


def test_the_log_of_a_book_is_that_of_its_editions_and_of_all_it_is_everything(
    url: str, tmp_path: Path, database: Database
) -> None:
    writing = ledger(url, tmp_path)
    writing.write(
        [
            entry("too old", timedelta(days=31), volume=Volume("robots")),
            entry("unnamed", chapters=("Gaits",), asker=of()),
            entry("of robots", chapters=("Gaits",), volume=Volume("robots")),
            entry("of the first", chapters=("Gaits",), volume=Volume("robots", "1.0")),
            entry("of the second", volume=Volume("robots", "2.0"), chapters=("Drives",), asker=of(UUID(int=5))),
            refused("of ants", volume=Volume("ants")),
            entry("of all", volume=Volume("all"), chapters=("Gaits",), asker=of()),
        ]
    )
    writing.close()
    for volume, questions, sessions in MEANT:
        with reading(database, SINCE, volume) as log:
            asked = list(log.questions())
            assert {each.question for each in asked} == questions
            assert all(volume.holds(each.volume) for each in asked)
            assert (log.sessions(), log.elsewhere()) == (sessions, 6 - len(questions))
    with reading(database, SINCE, Volume("robots")) as log:
        assert log.chapters() == {("robots", "Gaits"): 2, ("robots", "Drives"): 1}
    with reading(database, SINCE) as log:
        assert log.chapters()["all", "Gaits"] == 1
        assert {each.volume for each in log.questions() if each.question == "unnamed"} == {Volume()}


def test_a_log_that_nobody_has_written_is_empty_and_is_not_made(database: Database) -> None:
    before = database.missing
    with reading(database, SINCE) as log:
        assert (list(log.questions()), log.chapters()) == ([], {})
        assert (log.sessions(), log.lost(), log.elsewhere()) == (0, 0, 0)
    assert database.missing is before


@pytest.mark.parametrize("step", ["0001", "0002"])
def test_a_log_of_an_older_version_is_told(database: Database, step: str) -> None:
    schema.migrate(database, step)
    with pytest.raises(BadSetup, match="bookbound log upgrade"), reading(database, SINCE):
        pass


def test_what_is_read_is_of_one_moment(url: str, tmp_path: Path, database: Database) -> None:
    writing = ledger(url, tmp_path)
    writing.write([entry(chapters=("Gaits",))])
    with reading(database, SINCE) as log:
        assert len(list(log.questions())) == 1
        writing.write([entry(chapters=("Gaits",))])
        assert log.chapters() == {("", "Gaits"): 1}
    writing.close()
