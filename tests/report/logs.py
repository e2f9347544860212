"""A log of some questions, and the report on it."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
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
from bookbound.volume import UNNAMED, Volume

UNTIL = datetime(2027, 3, 31, 12, tzinfo=UTC)
SINCE = UNTIL - timedelta(days=30)


def book(*chapters: str, title: str = MANIFEST.title) -> Manifest:
    return replace(MANIFEST, title=title, chapters=tuple(Chapter(title, 1, 1) for title in chapters))


def reported(
    folder: Path,
    entries: Sequence[Entry],
    of: Manifest | Mapping[Volume, Manifest] | None = None,
    lost: int = 0,
    on: Volume = UNNAMED,
) -> Plain:
    """The report on a volume, from a log of these entries and the books that are indexed."""
    books = {UNNAMED: of} if isinstance(of, Manifest) else of or {}
    writing = ledger(None, folder)
    writing.write(entries, Loss(lost, created=UNTIL) if lost else None)
    writing.close()
    database = Database(None, folder)
    with reading(database, SINCE, on) as log:
        tally = Tally(log)
    database.close()
    groups = asyncio.run(unanswered(tally.wordings, OnnxEmbedder, lambda *_: None))
    held = {volume: book for volume, book in books.items() if on.holds(volume)}
    return figures(tally, groups, on, held, SINCE, UNTIL)
