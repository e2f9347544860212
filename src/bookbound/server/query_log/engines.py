"""Creates the SQLAlchemy engines for SQLite and PostgreSQL."""

from __future__ import annotations

import os
import re
import sqlite3
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from time import monotonic, sleep
from typing import Any

from sqlalchemy import URL, Connection, Engine, create_engine, event
from sqlalchemy.exc import OperationalError

from bookbound.domain.errors import BookboundError, ConfigError, ServiceUnreachableError
from bookbound.filesystem import private_files

SQLITE_LOCK_SECONDS = 5.0
"""How long a writer waits for another one to finish."""
SQLITE_FILE_NAME = "questions.db"


def create_sqlite_engine(file: Path) -> Engine:
    """Opens the file, which only its owner may read; a transaction that writes begins by waiting for its turn."""
    made = create_engine(URL.create("sqlite", database=str(file)), connect_args={"timeout": SQLITE_LOCK_SECONDS})

    @event.listens_for(made, "connect")
    def prepare(connection: Any, _: object) -> None:
        connection.isolation_level = None  # transactions begin where we say so
        _enable_wal(connection)
        connection.execute("PRAGMA synchronous = FULL")  # what is committed outlives a power cut
        connection.execute("PRAGMA foreign_keys = ON")
        connection.execute("PRAGMA secure_delete = ON")  # what is purged is gone from the file, too

    @event.listens_for(made, "begin")
    def begin(connection: Connection) -> None:
        writes = connection.get_execution_options().get("writes")
        connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")

    return made


def create_sqlite_file(file: Path, ours: bool) -> None:
    """The file, where there is none yet, and its folder as well, where that is ours."""
    if ours:
        private_files.create_private_folder(file.parent)
    # Never where it is there: to close a second handle of a file lets go of every lock that this process has on it.
    with suppress(FileExistsError):
        os.close(os.open(file, os.O_CREAT | os.O_EXCL | os.O_RDWR | os.O_CLOEXEC, 0o600))


def _enable_wal(connection: sqlite3.Connection) -> None:
    """Readers and a writer at once; to change to it, SQLite waits for nobody, so the waiting is here."""
    until = monotonic() + SQLITE_LOCK_SECONDS
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            return
        except sqlite3.OperationalError:
            if monotonic() > until:
                raise
            sleep(0.02)


POSTGRES_DRIVER = "psycopg"
STATEMENT_TIMEOUT_SECONDS = 10
"""How long one statement may take; nothing that is done here needs a second."""
# Whoever cannot be reached is found out soon. What the URL says of these holds.
CONNECTION_TIMEOUTS = {
    "connect_timeout": 3,
    "keepalives_idle": 10,
    "keepalives_interval": 3,
    "tcp_user_timeout": 10_000,
}
MIGRATION_LOCK_ID = 0x626F6F6B
"""Names the lock that whoever changes the tables holds."""
SERVICE = "log"
# A connection that is turned down has no code to go by, but words alone. The first row that fits holds.
CONNECTION_REFUSALS = (
    (
        r"FATAL: +database +does not exist",
        "The server has no database of the name in `log_url`. Make it, or correct that.",
    ),
    (
        r"FATAL: +(password auth|role +(does not exist|is not permitted)|no pg_hba|pg_hba)|fe_sendauth: no password",
        "The server does not take the name or the password in `log_url`. Correct them, or let that role in.",
    ),
    (r"FATAL: +permission denied", "The role in `log_url` may not use the database there. Grant it that."),
)
INSUFFICIENT_PRIVILEGE = "42501"
"""The code for what a role may not do."""


def create_postgres_engine(url: URL) -> Engine:
    """Opens the database that a URL names."""
    if find_spec(POSTGRES_DRIVER) is None:
        raise ConfigError('A log in PostgreSQL needs one more package: pip install "bookbound[postgres]"')
    patience = {name: value for name, value in CONNECTION_TIMEOUTS.items() if name not in url.query}
    return create_engine(url.set(drivername=f"postgresql+{POSTGRES_DRIVER}"), connect_args=patience, pool_size=1)


def set_statement_timeout(connection: Connection, seconds: int = STATEMENT_TIMEOUT_SECONDS) -> None:
    """Let no statement of this transaction take longer; nought is for ever."""
    connection.exec_driver_sql(f"SET LOCAL statement_timeout = {seconds * 1000}")


def lock_migrations(connection: Connection) -> None:
    """Wait until nobody else changes the tables, until this transaction ends."""
    set_statement_timeout(connection, 0)
    connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock({MIGRATION_LOCK_ID})")


def lock_table(connection: Connection, table: str) -> None:
    """Wait until nobody is writing to a table, and let nobody, until this transaction ends."""
    connection.exec_driver_sql(f"LOCK TABLE {table} IN SHARE MODE")


def translate_postgres_error(trouble: Exception) -> BookboundError:
    """What went wrong, in our own words alone: what a server says may hold names, and what was to be written.

    A server that is there and turns us down for good is set wrong; one that is away may come back.
    """
    cause = getattr(trouble, "orig", None) or trouble
    if getattr(cause, "sqlstate", None) == INSUFFICIENT_PRIVILEGE:
        return ConfigError("The role in `log_url` may not make or write the tables of the log there. Grant it that.")
    if getattr(cause, "sqlstate", None) or not isinstance(trouble, OperationalError):
        return ServiceUnreachableError(
            "The database of the log did not do as asked. See that `log_url` is right.", service=SERVICE
        )
    said = re.sub(r'"[^"]*"', "", str(cause))  # a name may be any words
    for pattern, told in CONNECTION_REFUSALS:
        if re.search(pattern, said):
            return ConfigError(told)
    if "FATAL:" in said:
        return ServiceUnreachableError(
            "The database of the log takes no connection for now. See how it fares.", service=SERVICE
        )
    told = "Nobody answers at the address in `log_url`. See that it is right, and that the database of the log runs."
    return ServiceUnreachableError(told, service=SERVICE)
