"""Notes what becomes of a question that is being worked on."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import perf_counter

from bookbound.dialogue import Question, Reply
from bookbound.entry import ASKING, Asker, Entry
from bookbound.ports import Journal
from bookbound.volume import UNNAMED, Volume


class Silent:
    """Keeps nothing, where nothing is to be kept."""

    noted = written = lost = 0

    def note(self, entry: Entry) -> None:
        """Let the entry go."""

    async def close(self) -> None:
        """There is nothing to write."""


@contextmanager
def noting(journal: Journal, question: Question, volume: Volume = UNNAMED) -> Iterator[Callable[[Reply], Reply]]:
    """One entry for a question to a volume, whether this block ends with a reply, in an error or by being broken off.

    The block hands its reply to the function it is given, which hands it back.
    """
    start, replies = perf_counter(), list[Reply]()
    asker = ASKING.get() or Asker()

    def reached(reply: Reply) -> Reply:
        replies.append(reply)
        return reply

    def note(outcome: Reply | BaseException) -> None:
        journal.note(Entry.of(question, outcome, (perf_counter() - start) * 1000, asker, volume))

    try:
        yield reached
    except BaseException as trouble:
        note(replies[0] if replies else trouble)  # who goes away after the reply was still answered
        raise
    if replies:
        note(replies[0])
