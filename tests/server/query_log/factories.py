"""Builds log entries, repositories and query logs for tests."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

from bookbound.domain.judgement import RefusalReason
from bookbound.domain.trace import QueryLogEntry, QueryMode, QueryStatus, Requester
from bookbound.server.query_log import BackgroundQueryLog
from bookbound.server.query_log.database import QueryLogDatabase
from bookbound.server.query_log.repository import QueryLogRepository, make_address_hasher

KEY = b"sixteen letters."
SESSION = UUID("550e8400-e29b-41d4-a716-446655440000")
RETENTION = timedelta(days=90)


def make_entry(question: str = "What is a gait?", ago: timedelta = timedelta(), **fields: Any) -> QueryLogEntry:
    """An entry for an answered question."""
    defaults: dict[str, Any] = {"mode": QueryMode.BOOK, "status": QueryStatus.ANSWERED, "milliseconds": 12}
    return QueryLogEntry(question, **(defaults | {"created_at": datetime.now(UTC) - ago} | fields))


def make_refused_entry(
    question: str = "Who won the cup?", reason: RefusalReason = RefusalReason.LOW_RELEVANCE, **fields: Any
) -> QueryLogEntry:
    return make_entry(question, status=QueryStatus.REFUSED, refusal_reason=reason, **fields)


def make_unsure_entry(question: str = "Who won the cup?", **fields: Any) -> QueryLogEntry:
    reason = RefusalReason.INSUFFICIENT_GROUNDING
    return make_entry(question, status=QueryStatus.UNSURE, refusal_reason=reason, **fields)


def make_requester(session: UUID = SESSION, address: str | None = "203.0.113.9") -> Requester:
    return Requester(session, address)


def make_repository(url: str | None, folder: Path) -> QueryLogRepository:
    return QueryLogRepository(QueryLogDatabase(url, folder), make_address_hasher(KEY), RETENTION)


def start_query_log(url: str, folder: Path, **options: Any) -> BackgroundQueryLog:
    return BackgroundQueryLog(make_repository(url, folder), **options)


def close_and_count(query_log: BackgroundQueryLog) -> tuple[int, int, int]:
    """Closes the log and returns the numbers of added, written and lost entries."""
    asyncio.run(query_log.close())
    return query_log.added_count, query_log.written_count, query_log.lost_count
