"""Limits how many questions run at once and rejects questions when the queue is full."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import aclosing, asynccontextmanager
from math import ceil, inf
from time import monotonic

from bookbound.answering.pipeline import Pipeline
from bookbound.answering.read_ahead import read_ahead
from bookbound.contracts.http_contract import HealthCheck
from bookbound.contracts.request_context import RequestContext
from bookbound.domain.book_ref import UNNAMED_BOOK, BookRef
from bookbound.domain.errors import IndexNotFoundError, OverloadedError
from bookbound.domain.manifest import Manifest
from bookbound.domain.ports import Index, QueryLog
from bookbound.domain.question import Question, Retrieval
from bookbound.domain.reply import PipelineEvent, Reply
from bookbound.server.book_pool import NO_BOOK_OPEN, BookPool
from bookbound.server.query_log import NullQueryLog, record_question
from bookbound.server.rate_limit import rate_limit_address
from bookbound.server.telemetry import QueueStats

EMBEDDER_CHECK_SECONDS = 10.0
QUEUE_FULL_MESSAGE = "Too many questions are being answered."
QUEUE_TIMEOUT_MESSAGE = "No answer could be started in time."
RECENT_SHARE = 0.1
"""How much the newest question changes the mean time of a question."""


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
        """Logs each question during this block, and closes the log at the end."""
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
        return {"embedder": engine.embedder.name, "writer": engine.writer_name}

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
        async with self._answering(question, context) as (pipeline, record_reply):
            return record_reply(await pipeline.ask(question, context.record.clock))

    async def search(self, question: Question, context: RequestContext) -> Retrieval:
        async with self._keep_book_open(context), self._slot(context) as pipeline:
            return await pipeline.search(question, context.record.clock)

    def stream(self, question: Question, context: RequestContext) -> AsyncGenerator[PipelineEvent]:
        return read_ahead(self._answer_in_steps(question, context))

    async def _answer_in_steps(self, question: Question, context: RequestContext) -> AsyncGenerator[PipelineEvent]:
        async with (
            self._answering(question, context) as (pipeline, record_reply),
            aclosing(pipeline.steps(question, context.record.clock)) as steps,
        ):
            async for step in steps:
                yield record_reply(step) if isinstance(step, Reply) else step

    @asynccontextmanager
    async def _answering(
        self, question: Question, context: RequestContext
    ) -> AsyncIterator[tuple[Pipeline, Callable[[Reply], Reply]]]:
        """Log a question, which waits for a free slot; yield what answers it and what notes the reply."""
        async with self._keep_book_open(context) as ref:
            with record_question(self._query_log, question, context.requester, ref) as record_reply:
                async with self._slot(context) as pipeline:
                    yield pipeline, record_reply

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


class FairQueue:
    """Lets `slots` questions run at a time; `max_waiting` more wait for at most `max_wait_seconds`.

    A free slot goes to the client that waits for its turn longest, for its oldest question. A question that would wait
    too long is rejected when it arrives. If the queue is full, a client with many questions in it makes room for one
    with few.
    """

    def __init__(
        self, slots: int, max_waiting: int, max_wait_seconds: float | None = None, now: Callable[[], float] = monotonic
    ) -> None:
        self._slots, self._max_waiting = slots, max_waiting
        self._max_wait_seconds, self._now = max_wait_seconds, now
        # The clients are in the order of their turns, and the questions of each in the order in which they came.
        self._waiting: dict[str, deque[asyncio.Future[None]]] = {}
        self.running, self._mean_seconds = 0, 0.0

    @property
    def waiting(self) -> int:
        return sum(map(len, self._waiting.values()))

    async def acquire(self, client: str) -> float:
        """Waits for a slot and returns when it was given, which `release` needs."""
        if self.running < self._slots:
            self.running += 1
            return self._now()
        self._check_expected_wait(client)
        if self.waiting >= self._max_waiting:
            self._make_room(client)
        turn = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(client, deque()).append(turn)
        try:
            async with asyncio.timeout(self._max_wait_seconds):
                await turn
        except BaseException as error:
            self._leave(client, turn)
            if isinstance(error, TimeoutError):
                raise build_overloaded_error(QUEUE_TIMEOUT_MESSAGE) from None
            raise
        return self._now()

    def release(self, acquired: float) -> None:
        """Gives a slot back to the next client."""
        seconds = self._now() - acquired
        self._mean_seconds += (seconds - self._mean_seconds) * (RECENT_SHARE if self._mean_seconds else 1)
        self._give_slot_on()

    def _give_slot_on(self) -> None:
        while self._waiting:
            client = next(iter(self._waiting))
            turns = self._waiting.pop(client)
            turn = turns.popleft()
            if turns:
                self._waiting[client] = turns  # behind all others
            if not turn.done():
                turn.set_result(None)
                return
        self.running -= 1

    def _leave(self, client: str, turn: asyncio.Future[None]) -> None:
        """Removes a question that no longer waits; a slot that it got in the same moment goes to the next one."""
        turns = self._waiting.get(client, deque())
        if turn in turns:
            turns.remove(turn)
            if not turns:
                del self._waiting[client]
        elif not turn.cancelled() and not turn.exception():
            self._give_slot_on()

    def _make_room(self, client: str) -> None:
        """Rejects the newest question of the client with most, or the new one if its client has as many."""
        greediest = max(self._waiting, key=lambda each: len(self._waiting[each]), default=client)
        turns, own = self._waiting.get(greediest, ()), self._waiting.get(client, ())
        if len(turns) <= len(own) + 1:
            raise build_overloaded_error(QUEUE_FULL_MESSAGE)
        turn = self._waiting[greediest].pop()
        if not turn.done():  # its client may have left in this moment
            turn.set_exception(build_overloaded_error(QUEUE_FULL_MESSAGE))

    def _check_expected_wait(self, client: str) -> None:
        own = len(self._waiting.get(client, ()))
        before = own + sum(min(len(turns), own + 1) for other, turns in self._waiting.items() if other != client)
        expected = (before + 1) * self._mean_seconds / self._slots
        too_long = expected - (inf if self._max_wait_seconds is None else self._max_wait_seconds)
        if too_long > 0:
            raise build_overloaded_error(QUEUE_TIMEOUT_MESSAGE, too_long)


def build_overloaded_error(message: str, seconds: float = 0.0) -> OverloadedError:
    wait = max(1, ceil(seconds))
    return OverloadedError(f"{message} Try again in {wait} second{'s' * (wait > 1)}.", retry_after=wait)
