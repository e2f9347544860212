"""Entries, and journals to note them in."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from time import sleep
from typing import Any
from uuid import UUID

from bookbound.entry import Asker, Entry, Mode, Status
from bookbound.finding import RefusalKind
from bookbound.record.address import hashed
from bookbound.record.database import Database
from bookbound.record.journal import QueuedJournal
from bookbound.record.ledger import Ledger

KEY = b"sixteen letters."
SESSION = UUID("550e8400-e29b-41d4-a716-446655440000")
KEEP = timedelta(days=90)


def entry(question: str = "What is a gait?", ago: timedelta = timedelta(), **given: Any) -> Entry:
    """An entry, answered unless something else is said."""
    usual: dict[str, Any] = {"mode": Mode.BOOK, "status": Status.ANSWERED, "milliseconds": 12}
    return Entry(question, **(usual | {"created": datetime.now(UTC) - ago} | given))


def refused(question: str = "Who won the cup?", kind: RefusalKind = RefusalKind.LOW_RELEVANCE, **given: Any) -> Entry:
    return entry(question, status=Status.REFUSED, refusal=kind, **given)


def of(session: UUID = SESSION, address: str | None = "203.0.113.9") -> Asker:
    return Asker(session, address)


def ledger(url: str | None, folder: Path) -> Ledger:
    return Ledger(Database(url, folder), hashed(KEY), KEEP)


def journal(url: str, folder: Path, **given: Any) -> QueuedJournal:
    return QueuedJournal(ledger(url, folder), folder, **given)


def closed(journal: QueuedJournal) -> tuple[int, int, int]:
    """What was noted, written and lost, once the journal is closed."""
    asyncio.run(journal.close())
    return journal.noted, journal.written, journal.lost


def until(holds: Callable[[], bool]) -> None:
    """Wait until something holds."""
    for _ in range(3000):
        if holds():
            return
        sleep(0.01)
    raise AssertionError("it never came to that")
