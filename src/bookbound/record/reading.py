"""What a log holds, read back for the author's report."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import NamedTuple

from sqlalchemy import Connection, func, select

from bookbound.entry import Mode, Status
from bookbound.record import schema
from bookbound.record.database import Database
from bookbound.record.ledger import when
from bookbound.record.tables import chapters, losses, queries

AT_ONCE = 1000


class Asked(NamedTuple):
    """One question of the log."""

    question: str
    mode: Mode
    status: Status
    refusal: str | None
    milliseconds: int
    created: datetime


class Reading:
    """The log as it was at one moment, from a time on; without a connection it is empty."""

    def __init__(self, connection: Connection | None, since: datetime) -> None:
        self._connection, self._since = connection, when(since)

    def questions(self) -> Iterator[Asked]:
        """Every question, the oldest first."""
        if self._connection is None:
            return
        found = self._connection.execute(
            select(
                queries.c.query_text,
                queries.c.mode,
                queries.c.status,
                queries.c.refusal_reason,
                queries.c.processing_time_ms,
                queries.c.created_at,
            )
            .where(queries.c.created_at >= self._since)
            .order_by(queries.c.created_at, queries.c.query_id),
            execution_options={"yield_per": AT_ONCE},
        )
        for text, mode, status, refusal, milliseconds, created in found:
            yield Asked(text, Mode(mode), Status(status), refusal, milliseconds or 0, created.replace(tzinfo=UTC))

    def chapters(self) -> Counter[str]:
        """How many answers cite each chapter."""
        if self._connection is None:
            return Counter()
        found = self._connection.execute(
            select(chapters.c.chapter, func.count())
            .join(queries, queries.c.query_id == chapters.c.query_id)
            .where(queries.c.created_at >= self._since)
            .group_by(chapters.c.chapter)
        )
        return Counter(dict(map(tuple, found)))

    def sessions(self) -> int:
        """How many sessions asked something."""
        if self._connection is None:
            return 0
        asked = select(func.count(queries.c.session_id.distinct())).where(queries.c.created_at >= self._since)
        return self._connection.execute(asked).scalar_one()

    def lost(self) -> int:
        """How many questions could not be logged."""
        if self._connection is None:
            return 0
        told = select(func.coalesce(func.sum(losses.c.lost), 0)).where(losses.c.created_at >= self._since)
        return int(self._connection.execute(told).scalar_one())


@contextmanager
def reading(database: Database, since: datetime) -> Iterator[Reading]:
    """The log from a time on, while this lasts."""
    if database.missing:
        yield Reading(None, since)
        return
    with database.read() as connection:
        yield Reading(connection if schema.check(connection) else None, since)
