"""Reads logged questions and totals back for the report and the command line."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, Connection, NullPool, Select, create_engine, func, select

from bookbound.domain.book_ref import ALL_BOOKS, UNNAMED_BOOK, BookRef
from bookbound.domain.trace import QueryMode, QueryStatus
from bookbound.server.query_log import schema
from bookbound.server.query_log.database import QueryLogDatabase
from bookbound.server.query_log.repository import to_naive_utc
from bookbound.server.query_log.schema import (
    Vote,
    books_table,
    chapters_table,
    losses_table,
    queries_table,
    sessions_table,
    votes_table,
)

ROW_BATCH_SIZE = 1000
EVERY_BOOK = BookRef(ALL_BOOKS)
# A question without a row in `query_volumes` belongs to the book without a name.
_book, _edition = func.coalesce(books_table.c.book, ""), func.coalesce(books_table.c.edition, "")
_OF_VOTE = votes_table, votes_table.c.query_id == queries_table.c.query_id
_lost = select(func.coalesce(func.sum(losses_table.c.lost), 0))


class QueryLogTotals(NamedTuple):
    """The schema step, the numbers of rows and losses, the time of the oldest question, and how the questions ended."""

    step: str = schema.NO_TABLES
    questions: int = 0
    sessions: int = 0
    oldest: datetime | None = None
    lost: int = 0
    answered: int = 0
    unsure: int = 0
    refused: int = 0
    errors: int = 0


def count_totals(database: QueryLogDatabase) -> QueryLogTotals:
    """Counts what the log contains, without creating or changing it."""
    with _read_log(database) as connection:
        count, oldest = connection.execute(select(func.count(), func.min(queries_table.c.created_at))).one()
        outcome = (queries_table.c.status, queries_table.c.refusal_reason)
        ended = Counter[QueryStatus]()
        for status, reason, number in connection.execute(select(*outcome, func.count()).group_by(*outcome)):
            ended[_parse_status(status, reason)] += number
        return QueryLogTotals(
            connection.execute(select(schema.version_table.c.version_num)).scalar() or schema.NO_TABLES,
            count,
            connection.execute(select(func.count()).select_from(sessions_table)).scalar_one(),
            oldest and oldest.replace(tzinfo=UTC),
            int(connection.execute(_lost).scalar_one()),
            *(ended[status] for status in QueryStatus),
        )


def _parse_status(status: str, reason: str | None) -> QueryStatus:
    """How a stored question ended; an unsure reply is stored as a refusal with a reason of its own."""
    is_unsure = status == QueryStatus.REFUSED and reason == schema.UNSURE_REASON
    return QueryStatus.UNSURE if is_unsure else QueryStatus(status)


class LoggedQuestion(NamedTuple):
    """One question of the log."""

    question: str
    mode: QueryMode
    status: QueryStatus
    refusal_reason: str | None
    milliseconds: int
    created_at: datetime
    book_ref: BookRef = UNNAMED_BOOK
    vote: Vote | None = None


class LogSnapshot:
    """The questions to one book, or to all, from a time on, as they are at one moment."""

    def __init__(self, connection: Connection, since: datetime, book_ref: BookRef) -> None:
        self._connection, self._since, self._book_ref = connection, to_naive_utc(since), book_ref

    def questions(self) -> Iterator[LoggedQuestion]:
        """Every question, oldest first."""
        columns = queries_table.c
        asked = columns["query_text", "mode", "status", "refusal_reason", "processing_time_ms", "created_at"]
        query = self._select(*asked, votes_table.c.vote, _book, _edition)
        query = query.outerjoin(*_OF_VOTE).order_by(columns.created_at, columns.query_id)
        rows = self._connection.execute(query, execution_options={"yield_per": ROW_BATCH_SIZE})
        for text, mode, status, reason, milliseconds, created_at, vote, *book in rows:
            yield LoggedQuestion(
                text,
                QueryMode(mode),
                _parse_status(status, reason),
                reason,
                milliseconds or 0,
                created_at.replace(tzinfo=UTC),
                BookRef(*book),
                Vote(vote) if vote else None,
            )

    def count_chapters(self) -> Counter[tuple[str, str]]:
        """The number of answers that cite each chapter of each book."""
        query = (
            self._select(_book, chapters_table.c.chapter, func.count())
            .join(chapters_table, chapters_table.c.query_id == queries_table.c.query_id)
            .group_by(_book, chapters_table.c.chapter)
        )
        return Counter({(book, chapter): count for book, chapter, count in self._connection.execute(query)})

    def count_sessions(self) -> int:
        return self._count(self._select(func.count(queries_table.c.session_id.distinct())))

    def count_other_books(self) -> int:
        """The number of questions to other books."""
        every = select(func.count()).select_from(queries_table).where(queries_table.c.created_at >= self._since)
        return self._count(every) - self._count(self._select(func.count()))

    def count_lost(self) -> int:
        """The number of questions, to any book, that could not be logged."""
        return self._count(_lost.where(losses_table.c.created_at >= self._since))

    def _count(self, query: Select[Any]) -> int:
        return int(self._connection.execute(query).scalar_one())

    def _select(self, *columns: ColumnElement[Any]) -> Select[Any]:
        tables = queries_table.outerjoin(books_table, books_table.c.query_id == queries_table.c.query_id)
        query = select(*columns).select_from(tables).where(queries_table.c.created_at >= self._since)
        if self._book_ref.book == ALL_BOOKS:
            return query
        query = query.where(_book == self._book_ref.book)
        return query.where(_edition == self._book_ref.edition) if self._book_ref.edition else query


@contextmanager
def open_snapshot(database: QueryLogDatabase, since: datetime, book_ref: BookRef = EVERY_BOOK) -> Iterator[LogSnapshot]:
    """Opens the log of a book, or of all books, from a time on."""
    with _read_log(database) as connection:
        yield LogSnapshot(connection, since, book_ref)


@contextmanager
def _read_log(database: QueryLogDatabase) -> Iterator[Connection]:
    """Opens the log for reading; one that does not exist yet reads as empty and is not created."""
    if not database.is_missing:
        with database.read() as connection:
            if schema.has_current_tables(connection):
                yield connection
                return
    with create_engine("sqlite://", poolclass=NullPool).connect() as connection:
        schema.metadata.create_all(connection)
        yield connection
