"""Reads logged questions and totals back for the report and the command line."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, Connection, Select, func, select

from bookbound.domain.book_ref import ALL_BOOKS, UNNAMED_BOOK, BookRef
from bookbound.domain.query_log_entry import QueryMode, QueryStatus
from bookbound.server.query_log import schema
from bookbound.server.query_log.database import QueryLogDatabase
from bookbound.server.query_log.repository import to_naive_utc
from bookbound.server.query_log.schema import books_table, chapters_table, losses_table, queries_table, sessions_table
from bookbound.server.query_log.unflushed import read_unflushed

ID_BATCH_SIZE = 1000


class QueryLogTotals(NamedTuple):
    """So many rows from the oldest on, so many losses told, and so many entries that dead processes left untold.

    Of what they left, entries that are rows are no loss and are not counted.
    """

    step: str = schema.NO_TABLES
    questions: int = 0
    sessions: int = 0
    oldest: datetime | None = None
    lost: int = 0
    outstanding: int = 0


def count_totals(database: QueryLogDatabase, place: Path) -> QueryLogTotals:
    """What the log holds, and what is left beside it at `place`; nothing is changed or made."""
    left = read_unflushed(place, database.name)  # before the rows: what is written meanwhile must not count as missing
    noted = [entry for each in left for entry in each.entries]
    outstanding = sum(each.most for each in left)
    if database.missing:
        return QueryLogTotals(outstanding=outstanding)
    with database.read() as connection:
        if not schema.has_current_tables(connection):
            return QueryLogTotals(outstanding=outstanding)
        for at in range(0, len(noted), ID_BATCH_SIZE):
            written = select(func.count()).where(queries_table.c.query_id.in_(noted[at : at + ID_BATCH_SIZE]))
            outstanding -= connection.execute(written).scalar_one()
        rows = select(func.count(), func.min(queries_table.c.created_at)).select_from(queries_table)
        count, oldest = connection.execute(rows).one()
        return QueryLogTotals(
            schema.LATEST_REVISION,
            count,
            connection.execute(select(func.count()).select_from(sessions_table)).scalar_one(),
            oldest and oldest.replace(tzinfo=UTC),
            int(connection.execute(select(func.coalesce(func.sum(losses_table.c.lost), 0))).scalar_one()),
            outstanding,
        )


ROW_BATCH_SIZE = 1000
EVERY_BOOK = BookRef(ALL_BOOKS)
# A question without a row there was put to the book without a name.
_book_column, _edition_column = func.coalesce(books_table.c.book, ""), func.coalesce(books_table.c.edition, "")


class LoggedQuestion(NamedTuple):
    """One question of the log."""

    question: str
    mode: QueryMode
    status: QueryStatus
    refusal: str | None
    milliseconds: int
    created: datetime
    volume: BookRef = UNNAMED_BOOK


class LogSnapshot:
    """The log of a volume as it was at one moment, from a time on; without a connection it is empty."""

    def __init__(self, connection: Connection | None, since: datetime, of: BookRef = EVERY_BOOK) -> None:
        self._connection, self._since, self._of = connection, to_naive_utc(since), of

    def questions(self) -> Iterator[LoggedQuestion]:
        """Every question, the oldest first."""
        if self._connection is None:
            return
        found = self._connection.execute(
            self._within(
                queries_table.c.query_text,
                queries_table.c.mode,
                queries_table.c.status,
                queries_table.c.refusal_reason,
                queries_table.c.processing_time_ms,
                queries_table.c.created_at,
                _book_column,
                _edition_column,
            ).order_by(queries_table.c.created_at, queries_table.c.query_id),
            execution_options={"yield_per": ROW_BATCH_SIZE},
        )
        for text, mode, status, refusal, milliseconds, created, *volume in found:
            moment = created.replace(tzinfo=UTC)
            yield LoggedQuestion(
                text, QueryMode(mode), QueryStatus(status), refusal, milliseconds or 0, moment, BookRef(*volume)
            )

    def chapters(self) -> Counter[tuple[str, str]]:
        """How many answers cite each chapter of each book."""
        if self._connection is None:
            return Counter()
        found = self._connection.execute(
            self._within(_book_column, chapters_table.c.chapter, func.count())
            .join(chapters_table, chapters_table.c.query_id == queries_table.c.query_id)
            .group_by(_book_column, chapters_table.c.chapter)
        )
        return Counter({(book, chapter): count for book, chapter, count in found})

    def sessions(self) -> int:
        """How many sessions asked something."""
        if self._connection is None:
            return 0
        return int(
            self._connection.execute(self._within(func.count(queries_table.c.session_id.distinct()))).scalar_one()
        )

    def elsewhere(self) -> int:
        """How many questions were put to other volumes."""
        if self._connection is None:
            return 0
        asked = select(func.count()).select_from(queries_table).where(queries_table.c.created_at >= self._since)
        here = self._connection.execute(self._within(func.count())).scalar_one()
        return int(self._connection.execute(asked).scalar_one() - here)

    def lost(self) -> int:
        """How many questions could not be logged, of whichever volume."""
        if self._connection is None:
            return 0
        told = select(func.coalesce(func.sum(losses_table.c.lost), 0)).where(losses_table.c.created_at >= self._since)
        return int(self._connection.execute(told).scalar_one())

    def _within(self, *columns: ColumnElement[Any]) -> Select[Any]:
        """These columns of the questions that are meant."""
        named = queries_table.outerjoin(books_table, books_table.c.query_id == queries_table.c.query_id)
        found = select(*columns).select_from(named).where(queries_table.c.created_at >= self._since)
        if self._of.book == ALL_BOOKS:
            return found
        found = found.where(_book_column == self._of.book)
        return found.where(_edition_column == self._of.edition) if self._of.edition else found


@contextmanager
def open_snapshot(database: QueryLogDatabase, since: datetime, of: BookRef = EVERY_BOOK) -> Iterator[LogSnapshot]:
    """The log of a volume, or of all of them, from a time on, while this lasts."""
    if database.missing:
        yield LogSnapshot(None, since, of)
        return
    with database.read() as connection:
        yield LogSnapshot(connection if schema.has_current_tables(connection) else None, since, of)
