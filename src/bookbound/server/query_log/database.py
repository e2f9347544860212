"""Opens transactions on the query log, in a SQLite file or a PostgreSQL database, and translates database errors."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sqlalchemy import URL, Connection, make_url
from sqlalchemy.exc import ArgumentError, DataError, IntegrityError, SQLAlchemyError

from bookbound.domain.errors import BookboundError, ConfigError, ServiceUnreachableError
from bookbound.server.query_log import engines

MIGRATION_LOCK_ID = 0x626F6F6B
FileId = tuple[int, int] | None
"""The device and inode of a file; None if it does not exist."""
log = logging.getLogger("bookbound.server.query_log")


class RejectedEntryError(BookboundError):
    """The database refuses this row and will always refuse it."""


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
            self._file = Path(parsed.database or "") if parsed else folder / engines.SQLITE_FILE_NAME
            self._engine = engines.create_sqlite_engine(self._file)
        else:
            self._engine = engines.create_postgres_engine(parsed)

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
                engines.create_sqlite_file(self._file, create_folder=self._create_folder)
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
                raise engines.translate_postgres_error(error) from None
            raise ServiceUnreachableError(
                f"The query log {self._file} cannot be used. Check that its folder exists, is writable and has free "
                "space.",
                service=engines.SERVICE,
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
