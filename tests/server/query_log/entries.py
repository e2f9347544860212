"""Entries, and journals to note them in."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from time import sleep
from typing import Any
from uuid import UUID

from bookbound.domain.judgement import RefusalReason
from bookbound.domain.query_log_entry import QueryLogEntry, QueryMode, QueryStatus, Requester
from bookbound.server.query_log.address_hash import make_address_hasher
from bookbound.server.query_log.background_writer import BackgroundQueryLog
from bookbound.server.query_log.database import QueryLogDatabase
from bookbound.server.query_log.repository import QueryLogRepository

KEY = b"sixteen letters."
SESSION = UUID("550e8400-e29b-41d4-a716-446655440000")
KEEP = timedelta(days=90)


def entry(question: str = "What is a gait?", ago: timedelta = timedelta(), **given: Any) -> QueryLogEntry:
    """An entry, answered unless something else is said."""
    usual: dict[str, Any] = {"mode": QueryMode.BOOK, "status": QueryStatus.ANSWERED, "milliseconds": 12}
    return QueryLogEntry(question, **(usual | {"created": datetime.now(UTC) - ago} | given))


def refused(
    question: str = "Who won the cup?", kind: RefusalReason = RefusalReason.LOW_RELEVANCE, **given: Any
) -> QueryLogEntry:
    return entry(question, status=QueryStatus.REFUSED, refusal=kind, **given)


def of(session: UUID = SESSION, address: str | None = "203.0.113.9") -> Requester:
    return Requester(session, address)


def ledger(url: str | None, folder: Path) -> QueryLogRepository:
    return QueryLogRepository(QueryLogDatabase(url, folder), make_address_hasher(KEY), KEEP)


def journal(url: str, folder: Path, **given: Any) -> BackgroundQueryLog:
    return BackgroundQueryLog(ledger(url, folder), folder, **given)


def closed(journal: BackgroundQueryLog) -> tuple[int, int, int]:
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
