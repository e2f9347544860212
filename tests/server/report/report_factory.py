"""Builds the report on a log of given entries."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

from tests.server.query_log.factories import make_repository

from bookbound.domain.book_ref import UNNAMED_BOOK, BookRef
from bookbound.domain.manifest import ChapterSummary, Manifest
from bookbound.domain.trace import QueryLogEntry
from bookbound.evaluation import MetricsDict
from bookbound.models.onnx import OnnxEmbedder
from bookbound.server.query_log import LossReport
from bookbound.server.query_log.database import QueryLogDatabase
from bookbound.server.query_log.history import open_snapshot
from bookbound.server.report import LogStatistics, summarize_log
from bookbound.server.report.report_builder import group_unanswered
from bookbound.testing import SCRIPTED_MANIFEST

UNTIL = datetime(2027, 3, 31, 12, tzinfo=UTC)
SINCE = UNTIL - timedelta(days=30)


def make_manifest(*chapters: str, title: str = SCRIPTED_MANIFEST.title) -> Manifest:
    return replace(SCRIPTED_MANIFEST, title=title, chapters=tuple(ChapterSummary(title, 1, 1) for title in chapters))


def build_report(
    folder: Path,
    entries: Sequence[QueryLogEntry],
    indexed: Manifest | Mapping[BookRef, Manifest] | None = None,
    lost: int = 0,
    book_ref: BookRef = UNNAMED_BOOK,
) -> MetricsDict:
    """Logs the entries and reports on a book, with the books that are indexed."""
    books = {UNNAMED_BOOK: indexed} if isinstance(indexed, Manifest) else indexed or {}
    with closing(make_repository(None, folder)) as repository:
        repository.write(entries, LossReport(lost, created_at=UNTIL) if lost else None)
    with closing(QueryLogDatabase(None, folder)) as database, open_snapshot(database, SINCE, book_ref) as log:
        statistics = LogStatistics(log)
    groups = asyncio.run(group_unanswered(statistics.wordings, OnnxEmbedder, lambda *_: None))
    included = {each: manifest for each, manifest in books.items() if book_ref.includes(each)}
    return summarize_log(statistics, groups, book_ref, included, SINCE, UNTIL)
