"""Limits how many questions run at once and rejects questions when the queue is full."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing, asynccontextmanager
from time import monotonic

from bookbound.answering.pipeline import Pipeline
from bookbound.contracts.http_contract import HealthCheck
from bookbound.contracts.request_context import RequestContext
from bookbound.domain.book_ref import UNNAMED_BOOK, BookRef
from bookbound.domain.errors import IndexNotFoundError
from bookbound.domain.manifest import Manifest
from bookbound.domain.ports import Index, QueryLog
from bookbound.domain.question import Question, Retrieval
from bookbound.domain.reply import PipelineEvent, Reply
from bookbound.server.book_pool import NO_BOOK_OPEN, BookPool
from bookbound.server.fair_queue import FairQueue
from bookbound.server.middleware.client_identity import rate_limit_address
from bookbound.server.query_log import NullQueryLog, record_question
from bookbound.server.telemetry import QueueStats

EMBEDDER_CHECK_SECONDS = 10.0


class AdmissionController:
    """Answers `max_concurrency` questions at once; `max_queue` more wait for at most `max_wait_seconds`.

    Clients, which are addresses with their keys, take turns.
    """

    def __init__(self, max_concurrency: int, max_queue: int, max_wait_seconds: float | None = None) -> None:
        self._open_pool: BookPool | None = None
        self._query_log: QueryLog = NullQueryLog()
        self._queue = FairQueue(max_concurrency, max_queue, max_wait_seconds)
        self._embedder_checked = float("-inf")

    @asynccontextmanager
    async def serve_books(self, pool: BookPool) -> AsyncIterator[None]:
        """Answer from the pool during this block, follow what is published, and close the pool at the end."""
        self._open_pool = pool
        follow_task = asyncio.create_task(pool.follow())
        try:
            yield
        finally:
            follow_task.cancel()
            await asyncio.gather(follow_task, return_exceptions=True)
            self._open_pool = None
            await pool.close()

    @asynccontextmanager
    async def log_queries(self, query_log: QueryLog) -> AsyncIterator[None]:
        """Log each question during this block, and close the log at the end."""
        self._query_log = query_log
        try:
            yield
        finally:
            await query_log.close()

    @property
    def _pool(self) -> BookPool:
        if self._open_pool is None:
            raise IndexNotFoundError(NO_BOOK_OPEN)
        return self._open_pool

    @property
    def models(self) -> dict[str, str]:
        engine = self._pool.pipeline().engine
        return {"embedder": engine.embedder.name, "writer": engine.writer.name}

    def queue_stats(self) -> QueueStats:
        queue, query_log = self._queue, self._query_log
        books = self._open_pool.open_books if self._open_pool else {}
        counts = query_log.added_count, query_log.written_count, query_log.lost_count
        return QueueStats(queue.running, queue.waiting, *counts, books)

    def health_checks(self) -> dict[str, HealthCheck]:
        index = self._pool.pipeline().book.index
        return {"embedder": self._check_embedder, "index": lambda: index.match("ready", 1)}

    async def _check_embedder(self) -> None:
        """Embed a word, but not if that succeeded a moment ago: remote embedders charge for it."""
        if monotonic() - self._embedder_checked >= EMBEDDER_CHECK_SECONDS:
            embedder = self._pool.pipeline().engine.embedder
            await embedder.embed(["ready"])  # the vector of a question may come from the cache
            self._embedder_checked = monotonic()

    async def manifest(self, context: RequestContext) -> Manifest:
        async with self.open_index(context) as index:
            return index.manifest

    @asynccontextmanager
    async def open_index(self, context: RequestContext) -> AsyncIterator[Index]:
        """Keep the book of a request open and unchanged during this block, in which its pages can be read."""
        async with self._keep_book_open(context):
            with self._pool.use(context.book) as pipeline:
                yield pipeline.book.index

    async def ask(self, question: Question, context: RequestContext) -> Reply:
        async with self._keep_book_open(context) as ref:
            with record_question(self._query_log, question, context.requester, ref) as record_reply:
                async with self._slot(context) as pipeline:
                    return record_reply(await pipeline.ask(question, context.record.clock))

    async def search(self, question: Question, context: RequestContext) -> Retrieval:
        async with self._keep_book_open(context), self._slot(context) as pipeline:
            return await pipeline.search(question, context.record.clock)

    def stream(self, question: Question, context: RequestContext) -> AsyncGenerator[PipelineEvent]:
        return read_ahead(self._answer_in_steps(question, context))

    async def _answer_in_steps(self, question: Question, context: RequestContext) -> AsyncGenerator[PipelineEvent]:
        async with self._keep_book_open(context) as ref:
            with record_question(self._query_log, question, context.requester, ref) as record_reply:
                async with (
                    self._slot(context) as pipeline,
                    aclosing(pipeline.steps(question, context.record.clock)) as steps,
                ):
                    async for step in steps:
                        yield record_reply(step) if isinstance(step, Reply) else step

    @asynccontextmanager
    async def _keep_book_open(self, context: RequestContext) -> AsyncIterator[BookRef]:
        """Keep the book of a request open while the question waits; yield the book as the query log names it."""
        if self._open_pool is None or context.book is None:
            yield self._open_pool.resolve() if self._open_pool else context.book or UNNAMED_BOOK
            return
        await self._open_pool.open_requested(context.book)
        with self._open_pool.use(context.book):
            yield self._open_pool.resolve(context.book)

    @asynccontextmanager
    async def _slot(self, context: RequestContext) -> AsyncIterator[Pipeline]:
        """Wait for a free slot, and keep the book of the question open and unchanged."""
        client = f"{rate_limit_address(context.requester.address)} {context.key_id or ''}"
        with context.record.clock.measure("queue"):
            acquired = await self._queue.acquire(client)
        try:
            with self._pool.use(context.book) as pipeline:
                yield pipeline
        finally:
            self._queue.release(acquired)


async def read_ahead(events: AsyncGenerator[PipelineEvent]) -> AsyncGenerator[PipelineEvent]:
    """Compute the events in a task of their own: a client that reads slowly keeps its events, but not its slot."""
    computed: asyncio.Queue[PipelineEvent | None] = asyncio.Queue()

    async def compute() -> None:
        try:
            async with aclosing(events):
                async for event in events:
                    computed.put_nowait(event)
                    await asyncio.sleep(0)  # an event is sent before the next one is computed
        finally:
            computed.put_nowait(None)

    task = asyncio.create_task(compute())
    try:
        while (event := await computed.get()) is not None:
            yield event
        await task
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
