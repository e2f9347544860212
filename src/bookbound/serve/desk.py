"""A bounded number of questions is worked on at once; beyond the queue the answer is no, at once."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing, asynccontextmanager

from bookbound.ask import Pipeline, Step
from bookbound.book import Manifest
from bookbound.dialogue import Question, Reply, Retrieval
from bookbound.errors import Busy, NoIndex
from bookbound.faces.face import Check

RETRY_AFTER = 1.0


class BoundedDesk:
    """Hands questions to a pipeline, `at_once` of them at a time, with room for `queue` more to wait."""

    def __init__(self, at_once: int, queue: int) -> None:
        self._open: Pipeline | None = None
        self._places = asyncio.Semaphore(at_once)
        self._room = at_once + queue
        self._present = 0

    @asynccontextmanager
    async def staffed(self, pipeline: Pipeline) -> AsyncIterator[None]:
        """The desk takes questions while this lasts."""
        self._open = pipeline
        try:
            yield
        finally:
            self._open = None
            await pipeline.close()

    @property
    def pipeline(self) -> Pipeline:
        if self._open is None:
            raise NoIndex("No book is open yet. Try again in a moment.")
        return self._open

    @property
    def manifest(self) -> Manifest:
        return self.pipeline.index.manifest

    @property
    def models(self) -> dict[str, str]:
        return {"embedder": self.pipeline.embedder.name, "writer": self.pipeline.writer.name}

    def checks(self) -> dict[str, Check]:
        pipeline = self.pipeline
        return {
            "embedder": lambda: pipeline.embedder.embed(["ready"]),  # a question's vector may be a remembered one
            "index": lambda: pipeline.index.match("ready", 1),
        }

    async def ask(self, question: Question) -> Reply:
        async with self._place():
            return await self.pipeline.ask(question)

    async def search(self, question: Question) -> Retrieval:
        async with self._place():
            return await self.pipeline.search(question)

    async def steps(self, question: Question) -> AsyncGenerator[Step]:
        async with self._place(), aclosing(self.pipeline.steps(question)) as steps:
            async for step in steps:
                yield step

    @asynccontextmanager
    async def _place(self) -> AsyncIterator[None]:
        if self._present >= self._room:
            raise Busy("Too many questions are being answered. Try again in a moment.", retry_after=RETRY_AFTER)
        self._present += 1
        try:
            async with self._places:
                yield
        finally:
            self._present -= 1
