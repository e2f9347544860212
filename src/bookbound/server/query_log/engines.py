"""Creates the SQLAlchemy engines for SQLite and PostgreSQL."""

from __future__ import annotations

import re
import sqlite3
from importlib.util import find_spec
from pathlib import Path
from time import monotonic, sleep
from typing import Any
from uuid import uuid4

from sqlalchemy import URL, Connection, Engine, create_engine, event
from sqlalchemy.exc import OperationalError

from bookbound import filesystem
from bookbound.domain.errors import BookboundError, ConfigError, ServiceUnreachableError
from bookbound.services import build_missing_packages_error

SERVICE = "log"
SQLITE_FILE_NAME = "questions.db"
SQLITE_LOCK_SECONDS = 5.0
"""How long a writer waits for another one to finish."""
POSTGRES_DRIVER = "psycopg"
STATEMENT_TIMEOUT_SECONDS = 10
# A dead server is noticed soon. Values in the URL win.
CONNECTION_TIMEOUTS = {
    "connect_timeout": 3,
    "keepalives_idle": 10,
    "keepalives_interval": 3,
    "tcp_user_timeout": 10_000,
}
# A refused connection has no error code, only a message. The first match wins.
CONNECTION_REFUSALS = (
    (
        r"FATAL: +database +does not exist",
        "The server does not have the database of `query_log_url`. Create it or correct the URL.",
    ),
    (
        r"FATAL: +(password auth|role +(does not exist|is not permitted)|no pg_hba|pg_hba)|fe_sendauth: no password",
        "The server rejects the user or the password in `query_log_url`. Correct them or allow the user to log in.",
    ),
    (
        r"FATAL: +permission denied",
        "The user in `query_log_url` may not use the database. Grant the user access to it.",
    ),
)
INSUFFICIENT_PRIVILEGE = "42501"


def create_sqlite_engine(file: Path) -> Engine:
    """An engine for a file, whose writing transactions wait for their turn when they begin."""
    engine = create_engine(URL.create("sqlite", database=str(file)), connect_args={"timeout": SQLITE_LOCK_SECONDS})

    @event.listens_for(engine, "connect")
    def prepare(connection: Any, _: object) -> None:
        connection.isolation_level = None  # leaves BEGIN to us
        connection.create_function("gen_random_uuid", 0, lambda: uuid4().hex)  # as PostgreSQL has it
        _enable_wal(connection)
        connection.execute("PRAGMA synchronous = FULL")  # a commit survives a power cut
        connection.execute("PRAGMA foreign_keys = ON")
        connection.execute("PRAGMA secure_delete = ON")  # purged text is overwritten in the file

    @event.listens_for(engine, "begin")
    def begin(connection: Connection) -> None:
        writes = connection.get_execution_options().get("writes")
        connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")

    return engine


def create_sqlite_file(file: Path, *, create_folder: bool) -> None:
    """Creates the file if it is missing, readable only by its owner."""
    if create_folder:
        filesystem.create_private_folder(file.parent)
    # Never reopen an existing file: closing a second handle would release this process's locks on it.
    filesystem.create_private_file(file)


def _enable_wal(connection: sqlite3.Connection) -> None:
    """Lets readers and a writer work at once; SQLite does not wait for locks here, so this does."""
    deadline = monotonic() + SQLITE_LOCK_SECONDS
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            return
        except sqlite3.OperationalError:
            if monotonic() > deadline:
                raise
            sleep(0.02)


def create_postgres_engine(url: URL) -> Engine:
    """An engine for a PostgreSQL database."""
    if find_spec(POSTGRES_DRIVER) is None:
        raise build_missing_packages_error("A query log in PostgreSQL", "postgres")
    timeouts = {name: value for name, value in CONNECTION_TIMEOUTS.items() if name not in url.query}
    engine = create_engine(url.set(drivername=f"postgresql+{POSTGRES_DRIVER}"), connect_args=timeouts, pool_size=1)

    @event.listens_for(engine, "begin")
    def begin(connection: Connection) -> None:
        if connection.get_execution_options().get("writes"):
            connection.exec_driver_sql(f"SET LOCAL statement_timeout = '{STATEMENT_TIMEOUT_SECONDS}s'")

    return engine


def translate_postgres_error(error: Exception) -> BookboundError:
    """A `ConfigError` if the server refuses us for good, else `ServiceUnreachableError`.

    The server's own message is left out because it may contain names and what was to be written.
    """
    cause = getattr(error, "orig", None) or error
    if getattr(cause, "sqlstate", None) == INSUFFICIENT_PRIVILEGE:
        return ConfigError("The user in `query_log_url` may not create or write the tables. Grant these privileges.")
    if getattr(cause, "sqlstate", None) or not isinstance(error, OperationalError):
        message = "The database of the query log failed. Check `query_log_url` and the logs of the database."
    else:
        reason = re.sub(r'"[^"]*"', "", str(cause))  # a quoted name may contain any words
        for pattern, refusal in CONNECTION_REFUSALS:
            if re.search(pattern, reason):
                return ConfigError(refusal)
        if "FATAL:" in reason:
            message = "The database of the query log accepts no connections at the moment. Check its state."
        else:
            message = "The database in `query_log_url` cannot be reached. Check the URL and that the database runs."
    return ServiceUnreachableError(message, service=SERVICE)
