"""One entry for each question, whatever becomes of it."""

from __future__ import annotations

import asyncio
from collections.abc import Generator
from uuid import uuid4

import pytest

from bookbound import testing
from bookbound.domain.book_ref import BookRef
from bookbound.domain.errors import ServiceUnreachableError
from bookbound.domain.query_log_entry import CURRENT_REQUESTER, QueryLogEntry, QueryStatus, Requester
from bookbound.domain.question import Question
from bookbound.domain.reply import Reply
from bookbound.server.query_log import NullQueryLog, record_question


class Kept(NullQueryLog):
    """A journal that keeps what it is told."""

    def __init__(self) -> None:
        self.entries: list[QueryLogEntry] = []

    def note(self, entry: QueryLogEntry) -> None:
        self.entries.append(entry)


QUESTION, REPLY = Question("What is a gait?"), testing.make_refusal()


def test_a_reply_is_noted_and_handed_on() -> None:
    journal = Kept()

    def ask() -> Reply:
        with record_question(journal, QUESTION) as reached:
            return reached(REPLY)

    assert ask() is REPLY
    (entry,) = journal.entries
    assert (entry.question, entry.status) == ("What is a gait?", QueryStatus.REFUSED)
    assert entry.milliseconds >= 0


@pytest.mark.parametrize(
    "trouble", [ServiceUnreachableError("no", service="qdrant"), ValueError("MARKER"), asyncio.CancelledError()]
)
def test_what_breaks_off_is_noted_and_goes_on_its_way(trouble: BaseException) -> None:
    journal = Kept()
    with pytest.raises(type(trouble)), record_question(journal, QUESTION):
        raise trouble
    (entry,) = journal.entries
    assert entry.status is QueryStatus.FAILED


def test_who_leaves_after_the_reply_was_answered() -> None:
    journal = Kept()

    def steps() -> Generator[Reply, None, None]:
        with record_question(journal, QUESTION) as reached:
            yield reached(REPLY)

    left = steps()
    assert next(left) is REPLY
    left.close()
    (entry,) = journal.entries
    assert entry.status is QueryStatus.REFUSED


def test_the_volume_is_noted_whether_there_is_a_reply_or_not() -> None:
    journal, asked = Kept(), BookRef("robots", "2.0")
    with record_question(journal, QUESTION, asked) as reached:
        reached(REPLY)
    with pytest.raises(ValueError), record_question(journal, QUESTION, asked):  # noqa: PT011
        raise ValueError
    assert [entry.volume for entry in journal.entries] == [BookRef("robots"), asked]


def test_who_asks_is_known_to_the_task_that_asks_and_to_no_other() -> None:
    journal = Kept()
    sessions = [uuid4() for _ in range(5)]

    async def ask(asker: Requester) -> None:
        CURRENT_REQUESTER.set(asker)
        await asyncio.sleep(0)
        with record_question(journal, QUESTION) as reached:
            await asyncio.sleep(0)
            reached(REPLY)

    async def all_of_them() -> None:
        await asyncio.gather(*(ask(Requester(session)) for session in sessions))
        with record_question(journal, QUESTION) as reached:
            reached(REPLY)

    asyncio.run(all_of_them())
    assert [entry.asker.session for entry in journal.entries] == [*sessions, None]
