"""A log of some questions, and the report on it."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

from tests.server.query_log.entries import ledger

from bookbound.domain.book_ref import UNNAMED_BOOK, BookRef
from bookbound.domain.manifest import ChapterSummary, Manifest
from bookbound.domain.query_log_entry import QueryLogEntry
from bookbound.evaluation.runner import MetricsDict
from bookbound.indexing.embed.onnx_embedder import OnnxEmbedder
from bookbound.server.query_log.database import QueryLogDatabase
from bookbound.server.query_log.history import open_snapshot
from bookbound.server.query_log.repository import LossReport
from bookbound.server.report import LogStatistics, summarize_log
from bookbound.server.report.question_groups import group_unanswered
from bookbound.testing import SCRIPTED_MANIFEST

UNTIL = datetime(2027, 3, 31, 12, tzinfo=UTC)
SINCE = UNTIL - timedelta(days=30)


def book(*chapters: str, title: str = SCRIPTED_MANIFEST.title) -> Manifest:
    return replace(SCRIPTED_MANIFEST, title=title, chapters=tuple(ChapterSummary(title, 1, 1) for title in chapters))


def reported(
    folder: Path,
    entries: Sequence[QueryLogEntry],
    of: Manifest | Mapping[BookRef, Manifest] | None = None,
    lost: int = 0,
    on: BookRef = UNNAMED_BOOK,
) -> MetricsDict:
    """The report on a volume, from a log of these entries and the books that are indexed."""
    books = {UNNAMED_BOOK: of} if isinstance(of, Manifest) else of or {}
    writing = ledger(None, folder)
    writing.write(entries, LossReport(lost, created=UNTIL) if lost else None)
    writing.close()
    database = QueryLogDatabase(None, folder)
    with open_snapshot(database, SINCE, on) as log:
        tally = LogStatistics(log)
    database.close()
    groups = asyncio.run(group_unanswered(tally.wordings, OnnxEmbedder, lambda *_: None))
    held = {volume: book for volume, book in books.items() if on.holds(volume)}
    return summarize_log(tally, groups, on, held, SINCE, UNTIL)
