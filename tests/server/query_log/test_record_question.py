"""Each question gets one entry, however it ends."""

from __future__ import annotations

import asyncio
from collections.abc import Generator
from uuid import uuid4

import pytest

from bookbound import testing
from bookbound.domain.book_ref import BookRef
from bookbound.domain.errors import ServiceUnreachableError
from bookbound.domain.question import Question
from bookbound.domain.reply import Reply
from bookbound.domain.trace import QueryLogEntry, QueryStatus, Requester
from bookbound.server.query_log import NullQueryLog, record_question


class ListQueryLog(NullQueryLog):
    """Keeps its entries in a list."""

    def __init__(self) -> None:
        self.entries: list[QueryLogEntry] = []

    def add(self, entry: QueryLogEntry) -> None:
        self.entries.append(entry)


QUESTION, REPLY = Question("What is a gait?"), testing.make_refusal()


def test_a_reply_is_logged_and_returned() -> None:
    query_log = ListQueryLog()

    def ask() -> Reply:
        with record_question(query_log, QUESTION, Requester()) as keep_reply:
            return keep_reply(REPLY)

    assert ask() is REPLY
    (entry,) = query_log.entries
    assert (entry.question, entry.status) == ("What is a gait?", QueryStatus.REFUSED)
    assert entry.milliseconds >= 0


@pytest.mark.parametrize(
    "error", [ServiceUnreachableError("no", service="qdrant"), ValueError("MARKER"), asyncio.CancelledError()]
)
def test_an_error_is_logged_and_raised(error: BaseException) -> None:
    query_log = ListQueryLog()
    with pytest.raises(type(error)), record_question(query_log, QUESTION, Requester()):
        raise error
    (entry,) = query_log.entries
    assert entry.status is QueryStatus.FAILED


def test_a_client_that_disconnects_after_the_reply_was_answered() -> None:
    query_log = ListQueryLog()

    def stream() -> Generator[Reply, None, None]:
        with record_question(query_log, QUESTION, Requester()) as keep_reply:
            yield keep_reply(REPLY)

    events = stream()
    assert next(events) is REPLY
    events.close()
    (entry,) = query_log.entries
    assert entry.status is QueryStatus.REFUSED


def test_the_book_is_logged_with_a_reply_and_with_an_error() -> None:
    query_log, book_ref = ListQueryLog(), BookRef("robots", "2.0")
    with record_question(query_log, QUESTION, Requester(), book_ref) as keep_reply:
        keep_reply(REPLY)
    with pytest.raises(ValueError), record_question(query_log, QUESTION, Requester(), book_ref):  # noqa: PT011
        raise ValueError
    assert [entry.book_ref for entry in query_log.entries] == [BookRef("robots"), book_ref]


def test_the_requester_is_logged() -> None:
    query_log, requester = ListQueryLog(), Requester(uuid4(), "203.0.113.9")
    with record_question(query_log, QUESTION, requester) as keep_reply:
        keep_reply(REPLY)
    assert [entry.requester for entry in query_log.entries] == [requester]
