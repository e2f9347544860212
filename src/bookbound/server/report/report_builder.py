"""Builds the report of a book from its query log, for the command line and for the page."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from bookbound.domain.book_ref import BookRef
from bookbound.domain.ports import Embedder
from bookbound.evaluation import MetricsDict
from bookbound.server.query_log.database import QueryLogDatabase
from bookbound.server.query_log.history import open_snapshot
from bookbound.server.report import IndexedBooks, LogStatistics, summarize_log
from bookbound.server.report.question_groups import ProgressCallback, VectorCache, group_unanswered

BookLoader = Callable[[BookRef, Mapping[BookRef, object]], Awaitable[IndexedBooks]]
"""Returns the indexed books that a report is about, given the books with logged questions."""


@dataclass(frozen=True, slots=True)
class ReportBuilder:
    """Reads the log of a book, groups the questions without an answer, and summarizes both.

    It keeps the vectors of the questions, so that a second report takes a fraction of the time of the first.
    """

    open_log: Callable[[], QueryLogDatabase]
    load_books: BookLoader
    open_embedder: Callable[[], Embedder]
    _vectors: VectorCache = field(default_factory=dict)
    # A thread of its own: waiting reports would otherwise use up the threads that all requests share.
    _thread: ThreadPoolExecutor = field(default_factory=lambda: ThreadPoolExecutor(1, "bookbound-report"))

    async def build(
        self, book_ref: BookRef, since: timedelta, progress: ProgressCallback = lambda *_: None
    ) -> MetricsDict:
        until = datetime.now(UTC)
        with closing(self.open_log()) as database, open_snapshot(database, until - since, book_ref) as log:
            statistics = LogStatistics(log)
        books = await self.load_books(book_ref, statistics.books)
        groups = await group_unanswered(statistics.wordings, self.open_embedder, progress, self._vectors)
        return summarize_log(statistics, groups, book_ref, books, until - since, until)

    async def build_in_thread(self, book_ref: BookRef, since: timedelta) -> MetricsDict:
        """Builds a report without delaying the event loop; several requests are served one after the other."""
        return await asyncio.get_running_loop().run_in_executor(
            self._thread, lambda: asyncio.run(self.build(book_ref, since))
        )
