"""Limits how many questions run at once and rejects questions when the queue is full."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing, asynccontextmanager
from time import monotonic

from bookbound.answering.pipeline import Pipeline, PipelineEvent
from bookbound.contracts.http_contract import HealthCheck
from bookbound.domain.book_ref import CURRENT_BOOK_REF, UNNAMED_BOOK, BookRef
from bookbound.domain.errors import IndexNotFoundError, OverloadedError
from bookbound.domain.manifest import Manifest
from bookbound.domain.ports import QueryLog
from bookbound.domain.question import Question, Retrieval
from bookbound.domain.reply import Answer, Refusal, Reply
from bookbound.server.book_pool import NO_BOOK_OPEN, BookPool
from bookbound.server.query_log import NullQueryLog, record_question
from bookbound.server.telemetry import QueueStats

RETRY_AFTER_SECONDS, EMBEDDER_CHECK_SECONDS = 1.0, 10.0


class AdmissionController:
    """Hands questions to a pipeline, `at_once` of them at a time, with room for `queue` more, which wait `patience`."""

    def __init__(self, at_once: int, queue: int, patience: float | None = None) -> None:
        self._shelf: BookPool | None = None
        self._journal: QueryLog = NullQueryLog()
        self._places = asyncio.Semaphore(at_once)
        self._at_once, self._room, self._patience = at_once, at_once + queue, patience
        self._present = 0
        self._embedded = float("-inf")

    @asynccontextmanager
    async def staffed(self, shelf: BookPool) -> AsyncIterator[None]:
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
    async def noted(self, journal: QueryLog) -> AsyncIterator[None]:
        """What becomes of each question is noted while this lasts."""
        self._journal = journal
        try:
            yield
        finally:
            await journal.close()

    @property
    def pipeline(self) -> Pipeline:
        return self._books.pipeline(CURRENT_BOOK_REF.get())

    @property
    def _books(self) -> BookPool:
        if self._shelf is None:
            raise IndexNotFoundError(NO_BOOK_OPEN)
        return self._shelf

    @property
    def _asked(self) -> BookRef:
        """The volume that is asked, as far as that is known before there is a reply."""
        named = CURRENT_BOOK_REF.get()
        return self._shelf.meant(named) if self._shelf else named or UNNAMED_BOOK

    @property
    def manifest(self) -> Manifest:
        return self.pipeline.index.manifest

    @property
    def models(self) -> dict[str, str]:
        return {"embedder": self.pipeline.embedder.name, "writer": self.pipeline.writer.name}

    def standing(self) -> QueueStats:
        """How the desk stands at this moment."""
        working, journal = min(self._present, self._at_once), self._journal
        books = self._shelf.open_books if self._shelf else {}
        return QueueStats(working, self._present - working, journal.noted, journal.written, journal.lost, books)

    def checks(self) -> dict[str, HealthCheck]:
        pipeline = self.pipeline
        return {
            "embedder": self._embeds,
            "index": lambda: pipeline.index.match("ready", 1),
        }

    async def _embeds(self) -> None:
        """The embedder answers, or did so seconds ago: whoever asks often must not be charged for each time."""
        if monotonic() - self._embedded >= EMBEDDER_CHECK_SECONDS:
            await self.pipeline.embedder.embed(["ready"])  # a question's vector may be a remembered one
            self._embedded = monotonic()

    async def ask(self, question: Question) -> Reply:
        with record_question(self._journal, question, self._asked) as reached:
            async with self._place() as pipeline:
                return reached(await pipeline.ask(question))

    async def search(self, question: Question) -> Retrieval:
        async with self._place() as pipeline:
            return await pipeline.search(question)

    async def steps(self, question: Question) -> AsyncGenerator[PipelineEvent]:
        with record_question(self._journal, question, self._asked) as reached:
            async with self._place() as pipeline, aclosing(pipeline.steps(question)) as steps:
                async for step in steps:
                    yield reached(step) if isinstance(step, Answer | Refusal) else step

    @asynccontextmanager
    async def _place(self) -> AsyncIterator[Pipeline]:
        """A place to work at, once there is one, and the book that is asked."""
        if self._present >= self._room:
            raise OverloadedError(
                "Too many questions are being answered. Try again in a moment.", retry_after=RETRY_AFTER_SECONDS
            )
        self._present += 1
        try:
            await self._turn()
            try:
                with self._books.lend(CURRENT_BOOK_REF.get()) as pipeline:
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
            raise OverloadedError(
                "No answer could be begun in time. Try again in a moment.", retry_after=RETRY_AFTER_SECONDS
            ) from None
