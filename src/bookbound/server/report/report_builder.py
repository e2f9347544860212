"""Builds the report of a book from its query log, for the command line and for the page."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from bookbound.domain.book_ref import ALL_BOOKS, BookRef
from bookbound.domain.errors import BookIndexError, BookNotFoundError, ServiceError
from bookbound.domain.ports import Embedder
from bookbound.evaluation import MetricsDict
from bookbound.server.query_log.database import QueryLogDatabase
from bookbound.server.query_log.history import open_snapshot
from bookbound.server.report import IndexedBooks, LogStatistics, summarize_log
from bookbound.server.report.question_groups import ProgressCallback, VectorCache, group_unanswered

BookLoader = Callable[[], Awaitable[IndexedBooks]]
"""Returns the published books."""
log = logging.getLogger("bookbound.server")


@dataclass(frozen=True, slots=True)
class ReportBuilder:
    """Reads the log of a book, groups the questions without an answer, and summarizes both.

    It keeps the vectors of the questions, so that a second report takes a fraction of the time of the first.
    """

    open_log: Callable[[], QueryLogDatabase]
    load_books: BookLoader
    open_embedder: Callable[[], Embedder]
    warn: Callable[[str], None] = log.warning
    _vectors: VectorCache = field(default_factory=dict)
    # A thread of its own: waiting reports would otherwise use up the threads that all requests share.
    _thread: ThreadPoolExecutor = field(default_factory=lambda: ThreadPoolExecutor(1, "bookbound-report"))

    async def build(
        self, book_ref: BookRef, since: timedelta, progress: ProgressCallback = lambda *_: None
    ) -> MetricsDict:
        until = datetime.now(UTC)
        with closing(self.open_log()) as database, open_snapshot(database, until - since, book_ref) as log:
            statistics = LogStatistics(log)
        books = await self._find_books(book_ref, bool(statistics.books))
        groups = await group_unanswered(statistics.wordings, self.open_embedder, progress, self._vectors)
        return summarize_log(statistics, groups, book_ref, books, until - since, until)

    async def _find_books(self, wanted: BookRef, is_logged: bool) -> IndexedBooks:
        """Returns the published editions of a book; the log alone is enough for a report, if it has a question."""
        try:
            published = await self.load_books()
        except (BookIndexError, ServiceError) as error:
            if not is_logged:
                raise
            self.warn(f"The index cannot be read, so the report does not list chapters that never answered. {error}")
            return {}
        books = {ref: manifest for ref, manifest in published.items() if wanted.includes(ref)}
        if not books and not is_logged and wanted.book not in ("", ALL_BOOKS):
            names = "; ".join(ref.cli_options or "one without a name" for ref in published) or "none"
            message = "Neither the index nor the query log has this book or edition. The books of the index:"
            raise BookNotFoundError(f"{message} {names}")
        return books

    async def build_in_thread(self, book_ref: BookRef, since: timedelta) -> MetricsDict:
        """Builds a report without delaying the event loop; several requests are served one after the other."""
        return await asyncio.get_running_loop().run_in_executor(
            self._thread, lambda: asyncio.run(self.build(book_ref, since))
        )
