"""A log of some questions, and the report on it."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

from tests.record.entries import ledger

from bookbound.embed.onnx import OnnxEmbedder
from bookbound.entry import Entry
from bookbound.manifest import Chapter, Manifest
from bookbound.measure.figures import Plain
from bookbound.record.database import Database
from bookbound.record.ledger import Loss
from bookbound.record.reading import reading
from bookbound.report.figures import figures
from bookbound.report.tally import Tally
from bookbound.report.unanswered import unanswered
from bookbound.testing import MANIFEST

UNTIL = datetime(2027, 3, 31, 12, tzinfo=UTC)
SINCE = UNTIL - timedelta(days=30)


def book(*chapters: str) -> Manifest:
    return replace(MANIFEST, chapters=tuple(Chapter(title, 1, 1) for title in chapters))


def reported(folder: Path, entries: Sequence[Entry], of: Manifest | None = None, lost: int = 0) -> Plain:
    """The report on a log of these entries."""
    writing = ledger(None, folder)
    writing.write(entries, Loss(lost, created=UNTIL) if lost else None)
    writing.close()
    database = Database(None, folder)
    with reading(database, SINCE) as log:
        tally = Tally(log)
    database.close()
    groups = asyncio.run(unanswered(tally.wordings, OnnxEmbedder, lambda *_: None))
    return figures(tally, groups, of, SINCE, UNTIL)
