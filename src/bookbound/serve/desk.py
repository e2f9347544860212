"""A bounded number of questions is worked on at once; beyond the queue the answer is no, at once."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing, asynccontextmanager
from time import monotonic

from bookbound.ask import Pipeline, Step
from bookbound.dialogue import Answer, Question, Refusal, Reply, Retrieval
from bookbound.errors import Busy, NoIndex
from bookbound.faces.face import Check
from bookbound.manifest import Manifest
from bookbound.ports import Journal
from bookbound.record.noting import Silent, noting
from bookbound.serve.shelf import NONE_OPEN, Shelf
from bookbound.volume import READING, UNNAMED, Volume
from bookbound.watch.standing import Standing

RETRY_AFTER, FRESH = 1.0, 10.0


class BoundedDesk:
    """Hands questions to a pipeline, `at_once` of them at a time, with room for `queue` more, which wait `patience`."""

    def __init__(self, at_once: int, queue: int, patience: float | None = None) -> None:
        self._shelf: Shelf | None = None
        self._journal: Journal = Silent()
        self._places = asyncio.Semaphore(at_once)
        self._at_once, self._room, self._patience = at_once, at_once + queue, patience
        self._present = 0
        self._embedded = float("-inf")

    @asynccontextmanager
    async def staffed(self, shelf: Shelf) -> AsyncIterator[None]:
        """The desk takes questions while this lasts, and moves with what is published."""
        self._shelf = shelf
        following = asyncio.create_task(shelf.follow())
        try:
            yield
        finally:
            following.cancel()
            await asyncio.gather(following, return_exceptions=True)
            self._shelf = None
            await shelf.close()

    @asynccontextmanager
    async def noted(self, journal: Journal) -> AsyncIterator[None]:
        """What becomes of each question is noted while this lasts."""
        self._journal = journal
        try:
            yield
        finally:
            await journal.close()

    @property
    def pipeline(self) -> Pipeline:
        return self._books.pipeline(READING.get())

    @property
    def _books(self) -> Shelf:
        if self._shelf is None:
            raise NoIndex(NONE_OPEN)
        return self._shelf

    @property
    def _asked(self) -> Volume:
        """The volume that is asked, as far as that is known before there is a reply."""
        named = READING.get()
        return self._shelf.meant(named) if self._shelf else named or UNNAMED

    @property
    def manifest(self) -> Manifest:
        return self.pipeline.index.manifest

    @property
    def models(self) -> dict[str, str]:
        return {"embedder": self.pipeline.embedder.name, "writer": self.pipeline.writer.name}

    def standing(self) -> Standing:
        """How the desk stands at this moment."""
        working, journal = min(self._present, self._at_once), self._journal
        books = self._shelf.open_books if self._shelf else {}
        return Standing(working, self._present - working, journal.noted, journal.written, journal.lost, books)

    def checks(self) -> dict[str, Check]:
        pipeline = self.pipeline
        return {
            "embedder": self._embeds,
            "index": lambda: pipeline.index.match("ready", 1),
        }

    async def _embeds(self) -> None:
        """The embedder answers, or did so seconds ago: whoever asks often must not be charged for each time."""
        if monotonic() - self._embedded >= FRESH:
            await self.pipeline.embedder.embed(["ready"])  # a question's vector may be a remembered one
            self._embedded = monotonic()

    async def ask(self, question: Question) -> Reply:
        with noting(self._journal, question, self._asked) as reached:
            async with self._place() as pipeline:
                return reached(await pipeline.ask(question))

    async def search(self, question: Question) -> Retrieval:
        async with self._place() as pipeline:
            return await pipeline.search(question)

    async def steps(self, question: Question) -> AsyncGenerator[Step]:
        with noting(self._journal, question, self._asked) as reached:
            async with self._place() as pipeline, aclosing(pipeline.steps(question)) as steps:
                async for step in steps:
                    yield reached(step) if isinstance(step, Answer | Refusal) else step

    @asynccontextmanager
    async def _place(self) -> AsyncIterator[Pipeline]:
        """A place to work at, once there is one, and the book that is asked."""
        if self._present >= self._room:
            raise Busy("Too many questions are being answered. Try again in a moment.", retry_after=RETRY_AFTER)
        self._present += 1
        try:
            await self._turn()
            try:
                with self._books.lend(READING.get()) as pipeline:
                    yield pipeline
            finally:
                self._places.release()
        finally:
            self._present -= 1

    async def _turn(self) -> None:
        """Until there is a place, or until a question has waited as long as it may."""
        try:
            async with asyncio.timeout(self._patience):
                await self._places.acquire()
        except TimeoutError:
            raise Busy("No answer could be begun in time. Try again in a moment.", retry_after=RETRY_AFTER) from None
