"""Builds the report of a book from its query log, and groups the unanswered questions that ask for the same thing."""

from __future__ import annotations

import asyncio
import hashlib
import logging
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from bookbound.domain.book_ref import ALL_BOOKS, BookRef
from bookbound.domain.errors import BookIndexError, BookNotFoundError, ServiceError
from bookbound.domain.ports import Embedder
from bookbound.domain.trace import QueryMode
from bookbound.evaluation import MetricsDict
from bookbound.server.query_log.database import QueryLogDatabase
from bookbound.server.query_log.history import open_snapshot
from bookbound.server.report import IndexedBooks, LogStatistics, QuestionWording, summarize_log

if TYPE_CHECKING:
    from bookbound.domain.ports import Vectors

SIMILARITY_THRESHOLD = 0.65
"""The least cosine to the typical question of a group, chosen for the shipped embedder."""
MAX_COMPARED = 2000
"""How many wordings are compared; that takes half a minute on two cores."""
CACHED_REPORTS = 4
"""So many of the largest reports fit into the cache, because authors look at several books and periods."""
EMBED_BATCH_SIZE = 32
ProgressCallback = Callable[[str, int, int], None]
VectorCache = dict[bytes, np.ndarray]
"""The vectors of questions by the hash of their text, which may be deleted from the log at any time."""
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


class QuestionGroup(NamedTuple):
    """The position of the typical question and those of all members."""

    typical: int
    members: tuple[int, ...]


def group_by_similarity(
    vectors: Vectors, weights: Sequence[int], threshold: float = SIMILARITY_THRESHOLD
) -> list[QuestionGroup]:
    """Puts each question into one group, the heaviest first; every member is similar to the typical question.

    The question with the most weight around it is typical and takes what is similar; then the rest is grouped.
    """
    if not len(vectors):
        return []
    similar = vectors @ vectors.T >= threshold
    np.fill_diagonal(similar, True)
    weight = np.asarray(weights, np.int64)
    around, is_free, groups = similar @ weight, np.ones(len(weight), bool), []
    while is_free.any():
        typical = int(np.where(is_free, around, -1).argmax())
        members = similar[typical] & is_free
        groups.append(QuestionGroup(typical, tuple(map(int, np.flatnonzero(members)))))
        around -= similar[:, members] @ weight[members]
        is_free &= ~members
    return groups


async def group_unanswered(
    wordings: Sequence[QuestionWording],
    open_embedder: Callable[[], Embedder],
    progress: ProgressCallback,
    cache: VectorCache | None = None,
) -> MetricsDict:
    """Groups unanswered questions, the most frequent first; questions about the book and a selection do not mix."""
    compared = wordings[:MAX_COMPARED]
    texts = [each.text for each in compared]
    vectors = await _embed_texts(texts, open_embedder, progress, {} if cache is None else cache)
    groups = []
    for mode in QueryMode:
        rows = [row for row, each in enumerate(compared) if each.mode is mode]
        for group in group_by_similarity(vectors[rows], [compared[row].count for row in rows]):
            members = [compared[rows[member]] for member in group.members]
            groups.append(_describe_group(compared[rows[group.typical]], members))
    return {
        "questions": sum(each.count for each in wordings),
        "compared": sum(each.count for each in compared),
        "groups": sorted(groups, key=lambda group: (-group["asked"], group["typical"])),
    }


async def _embed_texts(
    texts: Sequence[str], open_embedder: Callable[[], Embedder], progress: ProgressCallback, cache: VectorCache
) -> np.ndarray:
    """Returns the vectors of the texts, and keeps those of several reports in the cache."""
    keys = [hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest() for text in texts]
    missing = [(key, text) for key, text in zip(keys, texts, strict=True) if key not in cache]
    if missing:
        embedder = open_embedder()
        try:
            for start in range(0, len(missing), EMBED_BATCH_SIZE):
                progress("group", start, len(missing))
                batch = missing[start : start + EMBED_BATCH_SIZE]
                vectors = await embedder.embed([text for _, text in batch])
                cache.update(zip((key for key, _ in batch), vectors, strict=True))
            progress("group", len(missing), len(missing))
        finally:
            await embedder.close()
    for key in keys:
        cache[key] = cache.pop(key)  # the cache begins with those that no report has needed for longest
    for key in list(cache)[: -CACHED_REPORTS * MAX_COMPARED]:
        del cache[key]
    return np.stack([cache[key] for key in keys]) if keys else np.empty((0, 0), np.float32)


def _describe_group(typical: QuestionWording, members: Sequence[QuestionWording]) -> MetricsDict:
    reasons: Counter[str] = sum((each.reasons for each in members), Counter())
    return {
        "typical": typical.text,
        "asked": reasons.total(),
        "last": max(each.last_asked for each in members).date().isoformat(),
        "mode": typical.mode.value,
        "kinds": dict(reasons.most_common()),
        "wordings": [each.text for each in members],
    }
