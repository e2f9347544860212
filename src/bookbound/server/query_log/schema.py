"""Defines the tables of the query log and migrates them up and down."""

from __future__ import annotations

from enum import StrEnum
from uuid import NAMESPACE_URL, UUID, uuid5

import sqlalchemy as sa
from sqlalchemy import Column, Table

from bookbound.domain.errors import ConfigError
from bookbound.server.query_log.database import QueryLogDatabase


def _query_key() -> Column[UUID]:
    return Column("query_id", sa.Uuid, sa.ForeignKey("queries.query_id", ondelete="CASCADE"), primary_key=True)


class Vote(StrEnum):
    """Whether a reply helped."""

    UP = "up"
    DOWN = "down"


def hash_request_id(request_id: str) -> UUID:
    """The name of a request in the log; a client may choose the ID itself, and its text is not stored."""
    return uuid5(NAMESPACE_URL, f"bookbound:{request_id}")


metadata = sa.MetaData()
# The defaults are those of the contract; we send every id, so that a retry writes nothing twice.
sessions_table = Table(
    "query_sessions",
    metadata,
    Column("session_id", sa.Uuid, primary_key=True, server_default=sa.func.gen_random_uuid()),
    Column("created_at", sa.TIMESTAMP, server_default=sa.func.now()),
    Column("user_ip", sa.String(45)),
    Column("query_count", sa.Integer, server_default=sa.text("0")),
    Column("last_query_at", sa.TIMESTAMP),
    sa.Index("idx_sessions_ip_created", "user_ip", "created_at"),
)
queries_table = Table(
    "queries",
    metadata,
    Column("query_id", sa.Uuid, primary_key=True, server_default=sa.func.gen_random_uuid()),
    Column("session_id", sa.Uuid, sa.ForeignKey("query_sessions.session_id")),
    Column("query_text", sa.Text, nullable=False),
    Column("selected_text_length", sa.Integer),
    Column("mode", sa.String(20), sa.CheckConstraint("mode IN ('standard_rag', 'selected_text_only')"), nullable=False),
    Column("status", sa.String(20), sa.CheckConstraint("status IN ('success', 'refused', 'error')"), nullable=False),
    Column("refusal_reason", sa.Text),
    Column("chunks_retrieved", sa.Integer),
    Column("top_chunk_score", sa.Float),
    Column("processing_time_ms", sa.Integer),
    Column("created_at", sa.TIMESTAMP, server_default=sa.func.now()),
    sa.Index("idx_queries_status", "status", "created_at"),
    sa.Index("idx_queries_session", "session_id"),
)
chapters_table = Table("query_chapters", metadata, _query_key(), Column("chapter", sa.Text, primary_key=True))
losses_table = Table(
    "query_losses",
    metadata,
    Column("loss_id", sa.Uuid, primary_key=True),
    Column("lost", sa.Integer, nullable=False),
    Column("created_at", sa.TIMESTAMP, nullable=False),
)
books_table = Table(
    "query_volumes",
    metadata,
    _query_key(),
    Column("book", sa.Text, nullable=False),
    Column("edition", sa.Text, nullable=False),
)
votes_table = Table(
    "query_votes",
    metadata,
    _query_key(),
    Column("request_hash", sa.Uuid, nullable=False),
    Column("vote", sa.String(4), sa.CheckConstraint("vote IN ('up', 'down')")),
    sa.Index("idx_votes_request", "request_hash"),
)
UNSURE_REASON = "unsure"
"""The `refusal_reason` of an unsure reply; its `status` is that of a refusal, because the column has no other value."""
version_table = Table("query_log_version", metadata, Column("version_num", sa.String(32), primary_key=True))

# A step adds tables and its downgrade drops them. A step that changes a table would need SQL for both directions.
STEPS = {
    "0001": [sessions_table, queries_table],
    "0002": [chapters_table, losses_table],
    "0003": [books_table],
    "0004": [votes_table],
}
STEP_NAMES = ("nothing", *STEPS)
NO_TABLES, LATEST_STEP = STEP_NAMES[0], STEP_NAMES[-1]


def read_step(connection: sa.Connection) -> str:
    """The step of the tables; refuses a newer step and tables of another program."""
    tables = sa.inspect(connection).get_table_names()
    step = NO_TABLES
    if version_table.name in tables:
        step = connection.execute(sa.select(version_table.c.version_num)).scalar() or NO_TABLES
    if step not in STEP_NAMES:
        raise ConfigError(
            f"A newer version of Bookbound made the query log (step {step}; this version knows {LATEST_STEP}). "
            "Install that version or set another database: `query_log_url`."
        )
    if step == NO_TABLES and {"queries", "query_sessions"} & set(tables):
        raise ConfigError(
            "The database has a table `queries` or `query_sessions` that does not belong to Bookbound. "
            "Set another database: `query_log_url`."
        )
    return step


def migrate(database: QueryLogDatabase, to: str = LATEST_STEP) -> str:
    """Brings the tables to a step in one transaction and returns the step before; a downgrade deletes data."""
    if to not in STEP_NAMES:
        raise ConfigError(f"There is no step {to}. Choose one of: {', '.join(STEP_NAMES)}.")
    with database.begin() as connection:
        before = read_step(connection)
        if before != to:
            database.lock_migrations(connection)
            before = read_step(connection)
            _run_steps(connection, STEP_NAMES.index(before), STEP_NAMES.index(to))
    return before


def downgrade(database: QueryLogDatabase, to: str) -> str:
    """Takes the tables back to an earlier step and returns the step before."""
    with database.begin() as connection:
        before = read_step(connection)
    if to in STEP_NAMES and STEP_NAMES.index(to) > STEP_NAMES.index(before):
        raise ConfigError(f"The query log is at step {before}, before {to}. To upgrade it: bookbound log upgrade")
    migrate(database, to)
    database.truncate_wal()
    return before


def has_current_tables(connection: sa.Connection) -> bool:
    """Whether there are tables to read; refuses those of another version."""
    step = read_step(connection)
    if step not in (LATEST_STEP, NO_TABLES):
        raise ConfigError("An older version of Bookbound made the query log. To upgrade it: bookbound log upgrade")
    return step == LATEST_STEP


def _run_steps(connection: sa.Connection, before: int, to: int) -> None:
    steps = list(STEPS.values())
    for tables in steps[before:to]:
        metadata.create_all(connection, tables, checkfirst=False)
    for tables in reversed(steps[to:before]):
        metadata.drop_all(connection, tables, checkfirst=False)
    version_table.create(connection, checkfirst=True)
    connection.execute(version_table.delete())
    if to:
        connection.execute(version_table.insert().values(version_num=STEP_NAMES[to]))
