"""Opens transactions on the query log, in a SQLite file or a PostgreSQL database, and translates database errors."""

from __future__ import annotations

import logging
import re
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from time import monotonic, sleep
from typing import Any
from uuid import uuid4

from sqlalchemy import URL, Connection, Engine, create_engine, event, make_url
from sqlalchemy.exc import ArgumentError, DataError, IntegrityError, OperationalError, SQLAlchemyError

from bookbound import filesystem
from bookbound.domain.errors import BookboundError, ConfigError, ServiceUnreachableError
from bookbound.server.query_log import RejectedEntryError
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
MIGRATION_LOCK_ID = 0x626F6F6B
FileId = tuple[int, int] | None
"""The device and inode of a file; None if it does not exist."""
log = logging.getLogger("bookbound.server.query_log")


class QueryLogDatabase:
    """Transactions on the log, in the database of a URL or else in a file in `folder`.

    The first write creates the file. Errors are `ServiceUnreachableError`, `RejectedEntryError` or `ConfigError`.
    """

    def __init__(self, url: str | None, folder: Path) -> None:
        parsed = _parse_url(url) if url else None
        self._file: Path | None = None
        self._create_folder = parsed is None
        self._opened_file: FileId = None
        if parsed is None or parsed.drivername.startswith("sqlite"):
            self._file = Path(parsed.database or "") if parsed else folder / SQLITE_FILE_NAME
            self._engine = create_sqlite_engine(self._file)
        else:
            self._engine = create_postgres_engine(parsed)

    @property
    def location(self) -> str:
        """The file or database of the log, without user, password or URL parameters."""
        if self._file:
            return str(self._file)
        url = self._engine.url
        server = f"{url.host}{f':{url.port}' if url.port else ''}" if url.host else "a server"
        return f"PostgreSQL database {url.database} on {server}" if url.database else f"PostgreSQL on {server}"

    @property
    def is_sqlite(self) -> bool:
        return self._file is not None

    @property
    def is_missing(self) -> bool:
        """Whether the log is a file that does not exist yet."""
        return self._file is not None and not self._file.exists()

    @property
    def file_id(self) -> FileId:
        """Which file the log is now: another one if the file was removed or replaced, always the same on a server."""
        try:
            status = self._file.stat() if self._file else None
        except FileNotFoundError:
            return None
        return (status.st_dev, status.st_ino) if status else (0, 0)

    @contextmanager
    def begin(self) -> Iterator[Connection]:
        """A transaction that writes; it is durable when the block ends without an error."""
        with self._translate_errors():
            if self._file:
                if self._create_folder:
                    filesystem.create_private_folder(self._file.parent)
                # Never reopen an existing file: closing a second handle would release this process's locks on it.
                filesystem.create_private_file(self._file)
                self._follow_file()
            with self._engine.connect().execution_options(writes=True) as connection, connection.begin():
                yield connection
            if self._file and self.file_id != self._opened_file:
                raise FileNotFoundError  # what was written went with the file

    def _follow_file(self) -> None:
        """Open the file again if it was removed or replaced: an open connection would go on writing to the old one."""
        file_id = self.file_id
        if self._opened_file not in (None, file_id):
            log.warning("the query log %s was removed or replaced; questions go to the new file", self._file)
            self._engine.dispose()
        self._opened_file = file_id

    @contextmanager
    def read(self) -> Iterator[Connection]:
        """A transaction that sees the log as it is at one moment."""
        options = {} if self._file else {"isolation_level": "REPEATABLE READ", "postgresql_readonly": True}
        with self._translate_errors(), self._engine.connect() as connection:
            connection.execution_options(**options)
            with connection.begin():
                yield connection

    def lock_migrations(self, connection: Connection) -> None:
        """Keeps other processes from migrating until this transaction ends; SQLite has one writer anyway."""
        if not self._file:
            connection.exec_driver_sql("SET LOCAL statement_timeout = 0")  # the wait may be long
            connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock({MIGRATION_LOCK_ID})")

    def truncate_wal(self) -> None:
        """Removes deleted rows from the write-ahead log of SQLite; PostgreSQL recycles its own."""
        if self._file:
            with self._translate_errors(), self._engine.connect() as connection:
                connection.connection.cursor().execute("PRAGMA wal_checkpoint(TRUNCATE)")

    def close(self) -> None:
        self._engine.dispose()

    @contextmanager
    def _translate_errors(self) -> Iterator[None]:
        # Not chained: the driver's message may contain what was to be written.
        try:
            yield
        except (IntegrityError, DataError):
            raise RejectedEntryError("The query log rejects this entry.") from None
        except (SQLAlchemyError, self._engine.dialect.loaded_dbapi.Error, OSError) as error:
            if not self._file:
                raise translate_postgres_error(error) from None
            raise ServiceUnreachableError(
                f"The query log {self._file} cannot be used. Check that its folder exists, is writable and has free "
                "space.",
                service=SERVICE,
            ) from None


def _parse_url(url: str) -> URL:
    try:
        parsed = make_url(url)
    except (ArgumentError, ValueError):
        raise ConfigError(
            "The setting `query_log_url` is not a database URL such as postgresql://user@host/name."
        ) from None
    kind = parsed.drivername.partition("+")[0]
    if kind not in ("sqlite", "postgresql", "postgres"):
        raise ConfigError("The setting `query_log_url` must begin with postgresql:// or sqlite:///.")
    if kind == "sqlite" and parsed.database in (None, "", ":memory:"):
        raise ConfigError("The setting `query_log_url` must name a file: sqlite:///path/to/questions.db")
    return parsed


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
