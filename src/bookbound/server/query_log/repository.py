"""Writes log entries as rows, each once and with a hashed address, and deletes rows after the retention period."""

from __future__ import annotations

import hmac
from base64 import urlsafe_b64encode
from collections import Counter
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from functools import cache
from ipaddress import IPv6Address, ip_address
from pathlib import Path
from typing import Any
from uuid import UUID

from sqlalchemy import Connection, Table, bindparam, delete, func, select, update
from sqlalchemy.dialects import postgresql, sqlite

from bookbound.domain.book_ref import UNNAMED_BOOK
from bookbound.domain.errors import ConfigError
from bookbound.domain.trace import QueryLogEntry, QueryStatus
from bookbound.filesystem import create_private_folder, create_secret_file
from bookbound.server.query_log import LossReport, schema
from bookbound.server.query_log.database import FileId, QueryLogDatabase

DELETE_BATCH_SIZE = 500
"""Rows per DELETE, so that other writers do not wait long for a lock."""
MAX_INTEGER = 2**31 - 1
Row = dict[str, Any]
MAX_ADDRESS_LENGTH = 45
"""The width of the column; the hash takes 43 characters."""
MIN_KEY_LENGTH = 16
ADDRESS_KEY_FILE = "address.key"
AddressFormatter = Callable[[str], str]


class QueryLogRepository:
    """Writes each entry once, however often it is tried, and keeps it for the retention period."""

    def __init__(self, database: QueryLogDatabase, format_address: AddressFormatter, retention: timedelta) -> None:
        self._database, self._format_address, self._retention = database, format_address, retention
        self._migrated_file: FileId = None

    def ensure_tables(self) -> None:
        if self._migrated_file is None or self._migrated_file != self._database.file_id:
            schema.migrate(self._database)
            self._migrated_file = self._database.file_id

    def write(self, entries: Sequence[QueryLogEntry], report: LossReport | None = None) -> None:
        """Writes everything or nothing, durably."""
        self.ensure_tables()
        with self._database.begin() as connection:
            if report:  # if it was written before, the greater number stays, because a loss only grows
                row = {"loss_id": report.id, "lost": report.lost, "created_at": to_naive_utc(report.created_at)}
                self._upsert_greatest(connection, schema.losses_table, [row], "lost")
            if entries:
                self._write_entries(connection, entries)

    def delete_expired(self) -> bool:
        """Deletes some expired questions and returns whether there may be more."""
        self.ensure_tables()
        if _delete_batch(self._database, datetime.now(UTC) - self._retention):
            return True
        self._database.truncate_wal()
        return False

    def close(self) -> None:
        self._database.close()

    def _write_entries(self, connection: Connection, entries: Sequence[QueryLogEntry]) -> None:
        # The sessions come first: their rows are locked, so that a clean-up does not delete them as unused.
        if sessions := self._session_rows(entries):
            self._upsert_greatest(connection, schema.sessions_table, sessions, "last_query_at")
        new = self._insert_missing(connection, schema.queries_table, [_query_row(entry) for entry in entries])
        chapters = [{"query_id": each.id, "chapter": replace_nul(name)} for each in entries for name in each.chapters]
        books = [{"query_id": each.id, **each.book_ref._asdict()} for each in entries if each.book_ref != UNNAMED_BOOK]
        votes = [
            {"query_id": each.id, "request_hash": schema.hash_request_id(each.requester.request_id)}
            for each in entries
            if each.requester.request_id
        ]
        added = {schema.chapters_table: chapters, schema.books_table: books, schema.votes_table: votes}
        for table, rows in added.items():
            if rows:
                self._insert_missing(connection, table, rows)
        # A retried batch may already be stored: only new rows count.
        counts = Counter(entry.requester.session for entry in entries if entry.requester.session and entry.id in new)
        if counts:
            total = schema.sessions_table.c.query_count + bindparam("more")
            statement = update(schema.sessions_table).where(schema.sessions_table.c.session_id == bindparam("session"))
            rows = [{"session": session, "more": counts[session]} for session in sorted(counts)]
            connection.execute(statement.values(query_count=total), rows)

    def _session_rows(self, entries: Sequence[QueryLogEntry]) -> list[Row]:
        """One row for each session, sorted so that two writers never wait for each other."""
        rows: dict[UUID, Row] = {}
        for entry in sorted(entries, key=lambda entry: entry.created_at):
            if session := entry.requester.session:
                address, created_at = entry.requester.address, to_naive_utc(entry.created_at)
                row = {
                    "session_id": session,
                    "created_at": created_at,
                    "user_ip": self._format_address(address) if address else None,
                    "query_count": 0,
                }
                rows.setdefault(session, row)["last_query_at"] = created_at
        return [rows[session] for session in sorted(rows)]

    def _upsert_greatest(self, connection: Connection, table: Table, rows: list[Row], column: str) -> None:
        """Inserts rows; in existing rows the column keeps its greater value."""
        insert = self._insert(table).values(rows)
        greatest = func.max if self._database.is_sqlite else func.greatest
        value = greatest(table.c[column], insert.excluded[column])
        connection.execute(insert.on_conflict_do_update(index_elements=list(table.primary_key), set_={column: value}))

    def _insert_missing(self, connection: Connection, table: Table, rows: list[Row]) -> set[UUID]:
        """Inserts the rows that do not exist yet and returns their keys."""
        key = next(iter(table.primary_key))
        insert = self._insert(table).values(rows).on_conflict_do_nothing().returning(key)
        return set(connection.execute(insert).scalars())

    def _insert(self, table: Table) -> Any:
        return sqlite.insert(table) if self._database.is_sqlite else postgresql.insert(table)


def delete_older_than(database: QueryLogDatabase, before: datetime) -> int:
    """Deletes every question from before a time and returns how many there were."""
    if database.is_missing:
        return 0
    with database.read() as connection:
        if not schema.has_current_tables(connection):
            return 0
    total = 0
    while deleted := _delete_batch(database, before):
        total += deleted
    database.truncate_wal()
    return total


def _delete_batch(database: QueryLogDatabase, before: datetime) -> int:
    """Deletes some old questions and returns how many; the last batch deletes old losses and unused sessions."""
    limit = to_naive_utc(before)
    queries, sessions = schema.queries_table.c, schema.sessions_table.c
    with database.begin() as connection:
        for status in QueryStatus:  # the index over the time begins with the status
            old = select(queries.query_id).where(queries.status == status, queries.created_at < limit)
            batch = old.limit(DELETE_BATCH_SIZE).with_for_update(skip_locked=True)
            deleted = connection.execute(delete(schema.queries_table).where(queries.query_id.in_(batch))).rowcount
            if deleted:
                return deleted
        last_used = func.coalesce(sessions.last_query_at, sessions.created_at)
        is_used = select(queries.query_id).where(queries.session_id == sessions.session_id).exists()
        connection.execute(delete(schema.sessions_table).where(last_used < limit, ~is_used))
        connection.execute(delete(schema.losses_table).where(schema.losses_table.c.created_at < limit))
    return 0


def to_naive_utc(moment: datetime) -> datetime:
    """The time as the tables store it: in UTC without a time zone."""
    return moment.astimezone(UTC).replace(tzinfo=None)


def replace_nul(text: str) -> str:
    """PostgreSQL text cannot contain NUL."""
    return text.replace("\0", "\N{REPLACEMENT CHARACTER}")


def _query_row(entry: QueryLogEntry) -> Row:
    is_unsure = entry.status is QueryStatus.UNSURE
    return {
        "query_id": entry.id,
        "session_id": entry.requester.session,
        "query_text": replace_nul(entry.question),
        "selected_text_length": entry.selection_length,
        "mode": entry.mode,
        "status": QueryStatus.REFUSED if is_unsure else entry.status,
        "refusal_reason": schema.UNSURE_REASON if is_unsure else entry.refusal_reason,
        "chunks_retrieved": entry.retrieved_count,
        "top_chunk_score": entry.top_score,
        "processing_time_ms": min(entry.milliseconds, MAX_INTEGER),
        "created_at": to_naive_utc(entry.created_at),
    }


def make_address_hasher(key: bytes) -> AddressFormatter:
    """Hashes addresses so that they cannot be recovered without the key."""

    def hash_address(address: str) -> str:
        digest = hmac.digest(key, normalize_address(address).encode(errors="replace"), "sha256")
        return urlsafe_b64encode(digest).decode().rstrip("=")

    return hash_address


def make_stored_key_hasher(folder: Path) -> AddressFormatter:
    """Hashes addresses with the key stored in a folder, which is created with the first address."""
    load_hasher = cache(lambda: make_address_hasher(load_or_create_key(folder)))
    return lambda address: load_hasher()(address)


def normalize_address(address: str) -> str:
    """Gives an address its canonical spelling."""
    try:
        parsed = ip_address(address)
    except ValueError:
        return address[:MAX_ADDRESS_LENGTH]
    if isinstance(parsed, IPv6Address) and parsed.ipv4_mapped:
        parsed = parsed.ipv4_mapped
    return str(parsed)[:MAX_ADDRESS_LENGTH]


def parse_key_setting(key: str) -> bytes:
    """Checks the key from the settings."""
    if len(key.strip()) < MIN_KEY_LENGTH:
        raise ConfigError(
            f"The setting `query_log_key` must have at least {MIN_KEY_LENGTH} characters. Choose them at random."
        )
    return key.strip().encode()


def load_or_create_key(folder: Path) -> bytes:
    """Loads the key of a folder; the first caller creates it."""
    file = folder / ADDRESS_KEY_FILE
    try:
        if not file.exists():
            create_private_folder(folder)
            create_secret_file(file)
        key = file.read_bytes()
    except OSError as error:
        raise ConfigError(
            f"The key for hashing addresses cannot be stored in {folder} ({error.strerror}). Make the folder writable "
            "or set a key: `query_log_key`."
        ) from error
    if len(key) < MIN_KEY_LENGTH:
        raise ConfigError(f"{file} is not a valid key. Remove it, and Bookbound creates a new one.")
    return key
