"""A desk that tells the request that is being served what became of its question."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import aclosing, contextmanager

from bookbound.ask import Step
from bookbound.dialogue import Answer, Question, Refusal, Reply, Retrieval
from bookbound.faces.face import Check, Desk
from bookbound.manifest import Manifest
from bookbound.watch import outcome
from bookbound.watch.visit import VISIT, Asked, Visit


class WatchedDesk:
    """Holds a desk and does what that does."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk

    @property
    def manifest(self) -> Manifest:
        return self._desk.manifest

    @property
    def models(self) -> dict[str, str]:
        return self._desk.models

    def checks(self) -> dict[str, Check]:
        return self._desk.checks()

    async def ask(self, question: Question) -> Reply:
        with _asking("question") as reached:
            reply = await self._desk.ask(question)
            reached(reply)
            return reply

    async def search(self, question: Question) -> Retrieval:
        with _asking("search") as reached:
            found = await self._desk.search(question)
            reached(found)
            return found

    async def steps(self, question: Question) -> AsyncGenerator[Step]:
        with _asking("question") as reached:
            async with aclosing(self._desk.steps(question)) as steps:
                async for step in steps:
                    if isinstance(step, Answer | Refusal):
                        reached(step)
                    yield step


@contextmanager
def _asking(what: Asked) -> Iterator[Callable[[Reply | Retrieval], None]]:
    """Within this block something is put to the book; what comes of it goes to the function that is given."""
    visit = VISIT.get() or Visit("")
    visit.asked = what

    def reached(found: Reply | Retrieval) -> None:
        visit.outcome = outcome.of_reply(found)
        visit.reply = None if isinstance(found, Retrieval) else found

    try:
        yield reached
    except BaseException as trouble:
        visit.outcome = visit.outcome or outcome.of_trouble(trouble)  # who leaves after the reply was still answered
        raise
