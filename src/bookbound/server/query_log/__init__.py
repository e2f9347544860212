"""Logs one row for each question, and never an answer, a passage or selected text."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from time import perf_counter

from bookbound.domain.book_ref import UNNAMED_BOOK, BookRef
from bookbound.domain.ports import QueryLog
from bookbound.domain.question import Question
from bookbound.domain.reply import Reply
from bookbound.domain.trace import QueryLogEntry, Requester


class NullQueryLog:
    """Discards every entry."""

    added_count = written_count = lost_count = 0

    def add(self, entry: QueryLogEntry) -> None: ...

    async def close(self) -> None: ...


@contextmanager
def record_question(
    query_log: QueryLog, question: Question, requester: Requester, book_ref: BookRef = UNNAMED_BOOK
) -> Iterator[Callable[[Reply], Reply]]:
    """Adds one entry for a question when the block ends, with its reply, in an error or by cancellation.

    The block passes its reply through the function that it gets.
    """
    start, replies = perf_counter(), list[Reply]()

    def keep_reply(reply: Reply) -> Reply:
        replies.append(reply)
        return reply

    def add(outcome: Reply | BaseException) -> None:
        query_log.add(QueryLogEntry.of(question, outcome, (perf_counter() - start) * 1000, requester, book_ref))

    try:
        yield keep_reply
    except BaseException as error:
        add(replies[0] if replies else error)  # a client that disconnects after the reply was answered
        raise
    if replies:
        add(replies[0])


def log_folder(index: Path) -> Path:
    """The folder for the log of an index, next to the index because that may be read-only or replaced."""
    folder = index.absolute()
    return folder.with_name(f"{folder.name}-log")
