"""What a log holds, read back for the author's report."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, Connection, Select, func, select

from bookbound.entry import Mode, Status
from bookbound.record import schema
from bookbound.record.database import Database
from bookbound.record.ledger import when
from bookbound.record.tables import chapters, losses, queries, volumes
from bookbound.volume import EVERY, UNNAMED, Volume

AT_ONCE = 1000
ALL = Volume(EVERY)
# A question without a row there was put to the book without a name.
_book, _edition = func.coalesce(volumes.c.book, ""), func.coalesce(volumes.c.edition, "")


class Asked(NamedTuple):
    """One question of the log."""

    question: str
    mode: Mode
    status: Status
    refusal: str | None
    milliseconds: int
    created: datetime
    volume: Volume = UNNAMED


class Reading:
    """The log of a volume as it was at one moment, from a time on; without a connection it is empty."""

    def __init__(self, connection: Connection | None, since: datetime, of: Volume = ALL) -> None:
        self._connection, self._since, self._of = connection, when(since), of

    def questions(self) -> Iterator[Asked]:
        """Every question, the oldest first."""
        if self._connection is None:
            return
        found = self._connection.execute(
            self._within(
                queries.c.query_text,
                queries.c.mode,
                queries.c.status,
                queries.c.refusal_reason,
                queries.c.processing_time_ms,
                queries.c.created_at,
                _book,
                _edition,
            ).order_by(queries.c.created_at, queries.c.query_id),
            execution_options={"yield_per": AT_ONCE},
        )
        for text, mode, status, refusal, milliseconds, created, *volume in found:
            moment = created.replace(tzinfo=UTC)
            yield Asked(text, Mode(mode), Status(status), refusal, milliseconds or 0, moment, Volume(*volume))

    def chapters(self) -> Counter[tuple[str, str]]:
        """How many answers cite each chapter of each book."""
        if self._connection is None:
            return Counter()
        found = self._connection.execute(
            self._within(_book, chapters.c.chapter, func.count())
            .join(chapters, chapters.c.query_id == queries.c.query_id)
            .group_by(_book, chapters.c.chapter)
        )
        return Counter({(book, chapter): count for book, chapter, count in found})

    def sessions(self) -> int:
        """How many sessions asked something."""
        if self._connection is None:
            return 0
        return int(self._connection.execute(self._within(func.count(queries.c.session_id.distinct()))).scalar_one())

    def elsewhere(self) -> int:
        """How many questions were put to other volumes."""
        if self._connection is None:
            return 0
        asked = select(func.count()).select_from(queries).where(queries.c.created_at >= self._since)
        here = self._connection.execute(self._within(func.count())).scalar_one()
        return int(self._connection.execute(asked).scalar_one() - here)

    def lost(self) -> int:
        """How many questions could not be logged, of whichever volume."""
        if self._connection is None:
            return 0
        told = select(func.coalesce(func.sum(losses.c.lost), 0)).where(losses.c.created_at >= self._since)
        return int(self._connection.execute(told).scalar_one())

    def _within(self, *columns: ColumnElement[Any]) -> Select[Any]:
        """These columns of the questions that are meant."""
        named = queries.outerjoin(volumes, volumes.c.query_id == queries.c.query_id)
        found = select(*columns).select_from(named).where(queries.c.created_at >= self._since)
        if self._of.book == EVERY:
            return found
        found = found.where(_book == self._of.book)
        return found.where(_edition == self._of.edition) if self._of.edition else found


@contextmanager
def reading(database: Database, since: datetime, of: Volume = ALL) -> Iterator[Reading]:
    """The log of a volume, or of all of them, from a time on, while this lasts."""
    if database.missing:
        yield Reading(None, since, of)
        return
    with database.read() as connection:
        yield Reading(connection if schema.check(connection) else None, since, of)
