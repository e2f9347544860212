"""Defines the tables of the query log and migrates them up and down."""

from __future__ import annotations

from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING

from sqlalchemy import (
    Column,
    Connection,
    DateTime,
    Float,
    ForeignKey,
    Integer,
    MetaData,
    String,
    Table,
    Text,
    Uuid,
    inspect,
    text,
)

from bookbound.domain.errors import ConfigError
from bookbound.server.query_log.database import QueryLogDatabase

if TYPE_CHECKING:
    from alembic.config import Config


REVISIONS = ("nothing", "0001", "0002", "0003")
"""What the tables have been through, in its order."""
NO_TABLES, LATEST_REVISION = REVISIONS[0], REVISIONS[-1]
VERSION_TABLE = "query_log_version"
"""The table that remembers the step; it has a name of its own, for who keeps other things in the same database."""
_MIGRATION_LOCK = Lock()
"""Alembic keeps what it is doing in the module, so one thread at a time does it."""


def read_revision(connection: Connection) -> str:
    """The step that the tables are at."""
    if not inspect(connection).has_table(VERSION_TABLE):
        return NO_TABLES
    found = connection.execute(text(f"SELECT version_num FROM {VERSION_TABLE}")).scalar()
    return str(found or NO_TABLES)


def migrate(database: QueryLogDatabase, to: str = LATEST_REVISION) -> str:
    """Bring the tables to a step, by default the newest, and say which they were at.

    Others who do the same wait or are waited for. On the way back, what only a later step can hold is given up.
    """
    if to not in REVISIONS:
        raise ConfigError(f"There is no step {to}; known are {', '.join(REVISIONS)}.")
    with database.begin() as connection:
        at = _read_known_revision(connection)
        if at != to:
            database.alone(connection)
            at = _read_known_revision(connection)
        _run_migrations(connection, REVISIONS.index(at), REVISIONS.index(to))
    return at


def downgrade(database: QueryLogDatabase, to: str) -> str:
    """Take the tables back to an earlier step, and say which they were at."""
    with database.begin() as connection:
        at = _read_known_revision(connection)
    if to in REVISIONS and REVISIONS.index(to) > REVISIONS.index(at):
        raise ConfigError(f"The log is at step {at}, before {to}. To bring it up to date: bookbound log upgrade")
    migrate(database, to)
    database.scrub()
    return at


def has_current_tables(connection: Connection) -> bool:
    """Whether there are tables to read; those of another version are told as such."""
    at = _read_known_revision(connection)
    if at not in (LATEST_REVISION, NO_TABLES):
        raise ConfigError("The log is of an older version of Bookbound. Bring it up to date: bookbound log upgrade")
    return at == LATEST_REVISION


def _read_known_revision(connection: Connection) -> str:
    at = read_revision(connection)
    if at not in REVISIONS:
        raise ConfigError(
            f"The log was made by a newer version of Bookbound (step {at}, and this one knows {LATEST_REVISION}). Install that "
            "version, or name another database: `log_url`."
        )
    if at == NO_TABLES and {"queries", "query_sessions"} & set(inspect(connection).get_table_names()):
        raise ConfigError(
            "The database for the log holds a table `queries` or `query_sessions` that is not Bookbound's. "
            "Name another database: `log_url`."
        )
    return at


def _run_migrations(connection: Connection, at: int, to: int) -> None:
    from alembic import command

    with _MIGRATION_LOCK:
        if at < to:
            command.upgrade(_alembic_config(connection), REVISIONS[to])
        elif at > to:
            command.downgrade(_alembic_config(connection), REVISIONS[to] if to else "base")


def _alembic_config(connection: Connection) -> Config:
    from alembic.config import Config

    config = Config(attributes={"connection": connection, "version_table": VERSION_TABLE})
    folder = str(Path(__file__).parent / "migrations")
    config.set_main_option("script_location", folder.replace("%", "%%"))
    config.set_main_option("path_separator", "os")
    return config


metadata = MetaData()
sessions_table = Table(
    "query_sessions",
    metadata,
    Column("session_id", Uuid, primary_key=True),
    Column("created_at", DateTime),
    Column("user_ip", String(45)),
    Column("query_count", Integer),
    Column("last_query_at", DateTime),
)
queries_table = Table(
    "queries",
    metadata,
    Column("query_id", Uuid, primary_key=True),
    Column("session_id", Uuid, ForeignKey("query_sessions.session_id")),
    Column("query_text", Text, nullable=False),
    Column("selected_text_length", Integer),
    Column("mode", String(20), nullable=False),
    Column("status", String(20), nullable=False),
    Column("refusal_reason", Text),
    Column("chunks_retrieved", Integer),
    Column("top_chunk_score", Float),
    Column("processing_time_ms", Integer),
    Column("created_at", DateTime),
)
chapters_table = Table(
    "query_chapters",
    metadata,
    Column("query_id", Uuid, ForeignKey("queries.query_id", ondelete="CASCADE"), primary_key=True),
    Column("chapter", Text, primary_key=True),
)
books_table = Table(
    "query_volumes",
    metadata,
    Column("query_id", Uuid, ForeignKey("queries.query_id", ondelete="CASCADE"), primary_key=True),
    Column("book", Text, nullable=False),
    Column("edition", Text, nullable=False),
)
losses_table = Table(
    "query_losses",
    metadata,
    Column("loss_id", Uuid, primary_key=True),
    Column("lost", Integer, nullable=False),
    Column("created_at", DateTime, nullable=False),
)
