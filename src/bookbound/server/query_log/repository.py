"""Writes log entries as rows, each exactly once, and deletes rows after the retention period."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

from sqlalchemy import Connection, Table, bindparam, delete, func, select, update
from sqlalchemy.dialects import postgresql
from sqlalchemy.dialects import sqlite as sqlite_dialect

from bookbound.domain.book_ref import UNNAMED_BOOK
from bookbound.domain.query_log_entry import QueryLogEntry, QueryStatus
from bookbound.server.query_log import schema
from bookbound.server.query_log.address_hash import AddressFormatter
from bookbound.server.query_log.database import QueryLogDatabase
from bookbound.server.query_log.schema import books_table, chapters_table, losses_table, queries_table, sessions_table

DELETE_BATCH_SIZE = 500
"""How many rows are deleted in one go, so that nobody waits long for a lock."""
MAX_INTEGER = 2**31 - 1
Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class LossReport:
    """So many entries were noted and could not be written."""

    lost: int
    id: UUID = field(default_factory=uuid4)
    created: datetime = field(default_factory=lambda: datetime.now(UTC))


class QueryLogRepository:
    """Rows in a database, each written once however often it is tried, and kept for `keep`."""

    def __init__(self, database: QueryLogDatabase, address: AddressFormatter, keep: timedelta) -> None:
        self._database, self._address, self._keep = database, address, keep
        self._ready = False

    @property
    def name(self) -> str:
        return self._database.name

    def open(self) -> None:
        """See that the tables are there and known."""
        if not self._ready:
            schema.migrate(self._database)
            self._ready = True

    def write(self, entries: Sequence[QueryLogEntry], loss: LossReport | None = None) -> None:
        """Write all of this or nothing; when it returns, the rows last."""
        self.open()
        with self._database.begin() as connection:
            if loss:
                self._tell(connection, loss)
            if entries:
                self._enter(connection, entries)

    def settle(self, loss: LossReport, entries: Collection[UUID]) -> int:
        """Tell a loss, and with it those of the entries that are no rows and never will be; how many that is."""
        self.open()
        with self._database.begin() as connection:
            self._database.still(connection, queries_table.name)
            rows = select(func.count()).where(queries_table.c.query_id.in_(entries))
            lost = loss.lost + len(entries) - connection.execute(rows).scalar_one()
            if lost:
                self._tell(connection, replace(loss, lost=lost))
        return lost

    def tidy(self) -> bool:
        """Delete some of what is past its time; whether there may be more."""
        self.open()
        if delete_batch(self._database, datetime.now(UTC) - self._keep):
            return True
        self._database.scrub()
        return False

    def close(self) -> None:
        self._database.close()

    def _tell(self, connection: Connection, loss: LossReport) -> None:
        """A row for the loss; where there is one already, the greater number holds, for a loss only grows."""
        add = self._insert(losses_table).values(loss_id=loss.id, lost=loss.lost, created_at=to_naive_utc(loss.created))
        most = self._greatest(losses_table.c.lost, add.excluded.lost)
        connection.execute(add.on_conflict_do_update(index_elements=["loss_id"], set_={"lost": most}))

    def _enter(self, connection: Connection, entries: Sequence[QueryLogEntry]) -> None:
        self._meet(connection, entries)
        new = self._add(connection, queries_table, [_query_row(entry) for entry in entries])
        cited = [{"query_id": each.id, "chapter": replace_nul(name)} for each in entries for name in each.chapters]
        named = [{"query_id": each.id, **each.volume._asdict()} for each in entries if each.volume != UNNAMED_BOOK]
        for table, rows in ((chapters_table, cited), (books_table, named)):
            if rows:
                self._add(connection, table, rows)
        # Only rows that were not there before count: a batch is tried again when nobody knows what became of it.
        counts = Counter(entry.asker.session for entry in entries if entry.asker.session and entry.id in new)
        if counts:
            counted = update(sessions_table).where(sessions_table.c.session_id == bindparam("session"))
            more = counted.values(query_count=sessions_table.c.query_count + bindparam("more"))
            # In one order everywhere, so that no two writers wait for each other.
            connection.execute(more, [{"session": each, "more": counts[each]} for each in sorted(counts)])

    def _meet(self, connection: Connection, entries: Sequence[QueryLogEntry]) -> None:
        """A row for each session, held until the batch is written: nobody finds it idle and deletes it meanwhile."""
        met: dict[UUID, Row] = {}
        for entry in sorted(entries, key=lambda entry: entry.created):
            if session := entry.asker.session:
                address = self._address(entry.asker.address) if entry.asker.address else None
                first = {"created_at": to_naive_utc(entry.created), "user_ip": address, "query_count": 0}
                met[session] = {
                    "session_id": session,
                    **first,
                    **met.get(session, {}),
                    "last_query_at": to_naive_utc(entry.created),
                }
        if met:
            add = self._insert(sessions_table).values([met[each] for each in sorted(met)])
            latest = self._greatest(sessions_table.c.last_query_at, add.excluded.last_query_at)
            connection.execute(add.on_conflict_do_update(index_elements=["session_id"], set_={"last_query_at": latest}))

    def _add(self, connection: Connection, table: Table, rows: list[Row]) -> set[UUID]:
        """Insert the rows that are not there yet, and give the first key of each."""
        add = self._insert(table).values(rows).on_conflict_do_nothing().returning(next(iter(table.primary_key)))
        return set(connection.execute(add).scalars())

    def _insert(self, table: Table) -> Any:
        return sqlite_dialect.insert(table) if self._database.dialect == "sqlite" else postgresql.insert(table)

    def _greatest(self, one: Any, other: Any) -> Any:
        return func.max(one, other) if self._database.dialect == "sqlite" else func.greatest(one, other)


def delete_older_than(database: QueryLogDatabase, before: datetime) -> int:
    """Delete every question that was asked before, and say how many there were."""
    deleted = 0
    while some := delete_batch(database, before):
        deleted += some
    database.scrub()
    return deleted


def delete_batch(database: QueryLogDatabase, before: datetime) -> int:
    """Delete some questions that were asked before, and how many; with the last go sessions that are left empty."""
    with database.begin() as connection:
        # By status, because the index over the time begins with it.
        for status in QueryStatus:
            old = select(queries_table.c.query_id).where(
                queries_table.c.status == status, queries_table.c.created_at < to_naive_utc(before)
            )
            some = old.limit(DELETE_BATCH_SIZE).with_for_update(skip_locked=True)
            gone = connection.execute(delete(queries_table).where(queries_table.c.query_id.in_(some))).rowcount
            if gone:
                return gone
        latest = func.coalesce(sessions_table.c.last_query_at, sessions_table.c.created_at)
        left = (
            select(queries_table.c.query_id).where(queries_table.c.session_id == sessions_table.c.session_id).exists()
        )
        connection.execute(delete(sessions_table).where(latest < to_naive_utc(before), ~left))
        connection.execute(delete(losses_table).where(losses_table.c.created_at < to_naive_utc(before)))
    return 0


def to_naive_utc(moment: datetime) -> datetime:
    """A moment as the tables keep it: in UTC, without saying so."""
    return moment.astimezone(UTC).replace(tzinfo=None)


def replace_nul(words: str) -> str:
    """Words as every database takes them: PostgreSQL has no letter for nought."""
    return words.replace("\0", "\N{REPLACEMENT CHARACTER}")


def _query_row(entry: QueryLogEntry) -> Row:
    return {
        "query_id": entry.id,
        "session_id": entry.asker.session,
        "query_text": replace_nul(entry.question),
        "selected_text_length": entry.selected,
        "mode": entry.mode,
        "status": entry.status,
        "refusal_reason": entry.refusal,
        "chunks_retrieved": entry.retrieved,
        "top_chunk_score": entry.top_score,
        "processing_time_ms": min(entry.milliseconds, MAX_INTEGER),
        "created_at": to_naive_utc(entry.created),
    }
