"""Opens transactions on the query log, in a SQLite file or a PostgreSQL database, and translates database errors."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path

from sqlalchemy import URL, Connection, make_url
from sqlalchemy.exc import ArgumentError, DataError, IntegrityError, SQLAlchemyError

from bookbound.domain.errors import BookboundError, ConfigError, ServiceUnreachableError
from bookbound.server.query_log import engines

FILE_ERROR = "The log {} cannot be used. See that its folder is there, can be written and has room."


class RejectedEntryError(BookboundError):
    """The database takes no row like this one."""


class QueryLogDatabase:
    """Transactions on the log; trouble is `Unreachable`, a row it will never take `Rejected`, a wrong URL `BadSetup`.

    Without a `url` it is a file in `folder`, which is made when something is first written.
    """

    def __init__(self, url: str | None, folder: Path) -> None:
        named = _parse_url(url) if url else None
        self._ours = named is None
        self.file = _sqlite_path(named) if named else folder / engines.SQLITE_FILE_NAME
        if named and self.file is None:
            self._engine = engines.create_postgres_engine(named)
        else:
            assert self.file
            self._engine = engines.create_sqlite_engine(self.file)

    @property
    def name(self) -> str:
        """Letters that tell this log from others, and nothing about it."""
        where = str(self.file.absolute()) if self.file else self._engine.url.render_as_string(hide_password=True)
        return sha256(where.encode(errors="surrogateescape")).hexdigest()[:16]

    @property
    def where(self) -> str:
        """Where it is, for people: without a user, a password or anything else that a URL may hold."""
        if self.file:
            return str(self.file)
        url = self._engine.url
        server = f"{url.host}{f':{url.port}' if url.port else ''}" if url.host else "a server"
        return f"PostgreSQL database {url.database} on {server}" if url.database else f"PostgreSQL on {server}"

    @property
    def dialect(self) -> str:
        return self._engine.dialect.name

    @property
    def missing(self) -> bool:
        """Whether it is a file that nobody has written yet."""
        return self.file is not None and not self.file.exists()

    @contextmanager
    def begin(self) -> Iterator[Connection]:
        """A transaction that writes; when the block ends without trouble, what it wrote lasts."""
        with self._told():
            if self.file:
                engines.create_sqlite_file(self.file, ours=self._ours)
            with self._engine.connect().execution_options(writes=True) as connection, connection.begin():
                if self.file is None:
                    engines.set_statement_timeout(connection)
                yield connection

    @contextmanager
    def read(self) -> Iterator[Connection]:
        """A transaction that reads what the log held at one moment."""
        level = {} if self.file else {"isolation_level": "REPEATABLE READ", "postgresql_readonly": True}
        with self._told(), self._engine.connect() as connection:
            connection.execution_options(**level)
            with connection.begin():
                yield connection

    def alone(self, connection: Connection) -> None:
        """Be the only one to change the tables, until this transaction ends."""
        if self.file is None:
            engines.lock_migrations(connection)

    def still(self, connection: Connection, table: str) -> None:
        """Know what a table holds: whoever is gone may yet be written for, by a server that has not noticed."""
        if self.file is None:
            engines.lock_table(connection, table)

    def scrub(self) -> None:
        """Leave nothing of what was deleted in the files beside a SQLite file; a server does that in its own time."""
        if self.file:
            with self._told(), self._engine.connect() as connection:
                connection.connection.cursor().execute("PRAGMA wal_checkpoint(TRUNCATE)")

    def close(self) -> None:
        self._engine.dispose()

    @contextmanager
    def _told(self) -> Iterator[None]:
        try:
            yield
        except (IntegrityError, DataError):
            raise RejectedEntryError("The log does not take this entry.") from None
        except (SQLAlchemyError, self._engine.dialect.loaded_dbapi.Error, OSError) as trouble:
            # Not chained: what a driver says may hold what was to be written.
            if self.file:
                raise ServiceUnreachableError(FILE_ERROR.format(self.file), service=engines.SERVICE) from None
            raise engines.translate_postgres_error(trouble) from None


def _parse_url(url: str) -> URL:
    try:
        parsed = make_url(url)
    except (ArgumentError, ValueError):
        raise ConfigError("The setting `log_url` is no database URL, such as postgresql://user@host/name.") from None
    kind = parsed.drivername.partition("+")[0]
    if kind not in ("sqlite", "postgresql", "postgres"):
        raise ConfigError("The setting `log_url` must begin with postgresql:// or sqlite:///.")
    if kind == "sqlite" and parsed.database in (None, "", ":memory:"):
        raise ConfigError("The setting `log_url` must name a file: sqlite:///path/to/questions.db")
    return parsed


def _sqlite_path(url: URL) -> Path | None:
    return Path(url.database or "") if url.drivername.startswith("sqlite") else None
