"""Logs one row for each question, and never an answer, a passage or selected text."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from time import perf_counter

from bookbound.domain.book_ref import UNNAMED_BOOK, BookRef
from bookbound.domain.ports import QueryLog
from bookbound.domain.query_log_entry import CURRENT_REQUESTER, QueryLogEntry, Requester
from bookbound.domain.question import Question
from bookbound.domain.reply import Reply


class NullQueryLog:
    """Keeps nothing, where nothing is to be kept."""

    noted = written = lost = 0

    def note(self, entry: QueryLogEntry) -> None:
        """Let the entry go."""

    async def close(self) -> None:
        """There is nothing to write."""


@contextmanager
def record_question(
    journal: QueryLog, question: Question, volume: BookRef = UNNAMED_BOOK
) -> Iterator[Callable[[Reply], Reply]]:
    """One entry for a question to a volume, whether this block ends with a reply, in an error or by being broken off.

    The block hands its reply to the function it is given, which hands it back.
    """
    start, replies = perf_counter(), list[Reply]()
    asker = CURRENT_REQUESTER.get() or Requester()

    def reached(reply: Reply) -> Reply:
        replies.append(reply)
        return reply

    def note(outcome: Reply | BaseException) -> None:
        journal.note(QueryLogEntry.of(question, outcome, (perf_counter() - start) * 1000, asker, volume))

    try:
        yield reached
    except BaseException as trouble:
        note(replies[0] if replies else trouble)  # who goes away after the reply was still answered
        raise
    if replies:
        note(replies[0])


def log_folder(index: Path) -> Path:
    """The folder for the log of an index; not within that of the index, which may be read-only, or be made anew."""
    folder = index.absolute()
    return folder.with_name(f"{folder.name}-log")
