"""One entry for each question, whatever becomes of it."""

from __future__ import annotations

import asyncio
from collections.abc import Generator
from uuid import uuid4

import pytest

from bookbound import testing
from bookbound.dialogue import Question, Reply
from bookbound.entry import ASKING, Asker, Entry, Status
from bookbound.errors import Unreachable
from bookbound.record.noting import Silent, noting
from bookbound.volume import Volume


class Kept(Silent):
    """A journal that keeps what it is told."""

    def __init__(self) -> None:
        self.entries: list[Entry] = []

    def note(self, entry: Entry) -> None:
        self.entries.append(entry)


QUESTION, REPLY = Question("What is a gait?"), testing.refusal()


def test_a_reply_is_noted_and_handed_on() -> None:
    journal = Kept()

    def ask() -> Reply:
        with noting(journal, QUESTION) as reached:
            return reached(REPLY)

    assert ask() is REPLY
    (entry,) = journal.entries
    assert (entry.question, entry.status) == ("What is a gait?", Status.REFUSED)
    assert entry.milliseconds >= 0


@pytest.mark.parametrize(
    "trouble", [Unreachable("no", service="qdrant"), ValueError("MARKER"), asyncio.CancelledError()]
)
def test_what_breaks_off_is_noted_and_goes_on_its_way(trouble: BaseException) -> None:
    journal = Kept()
    with pytest.raises(type(trouble)), noting(journal, QUESTION):
        raise trouble
    (entry,) = journal.entries
    assert entry.status is Status.FAILED


def test_who_leaves_after_the_reply_was_answered() -> None:
    journal = Kept()

    def steps() -> Generator[Reply, None, None]:
        with noting(journal, QUESTION) as reached:
            yield reached(REPLY)

    left = steps()
    assert next(left) is REPLY
    left.close()
    (entry,) = journal.entries
    assert entry.status is Status.REFUSED


def test_the_volume_is_noted_whether_there_is_a_reply_or_not() -> None:
    journal, asked = Kept(), Volume("robots", "2.0")
    with noting(journal, QUESTION, asked) as reached:
        reached(REPLY)
    with pytest.raises(ValueError), noting(journal, QUESTION, asked):  # noqa: PT011
        raise ValueError
    assert [entry.volume for entry in journal.entries] == [Volume("robots"), asked]


def test_who_asks_is_known_to_the_task_that_asks_and_to_no_other() -> None:
    journal = Kept()
    sessions = [uuid4() for _ in range(5)]

    async def ask(asker: Asker) -> None:
        ASKING.set(asker)
        await asyncio.sleep(0)
        with noting(journal, QUESTION) as reached:
            await asyncio.sleep(0)
            reached(REPLY)

    async def all_of_them() -> None:
        await asyncio.gather(*(ask(Asker(session)) for session in sessions))
        with noting(journal, QUESTION) as reached:
            reached(REPLY)

    asyncio.run(all_of_them())
    assert [entry.asker.session for entry in journal.entries] == [*sessions, None]
