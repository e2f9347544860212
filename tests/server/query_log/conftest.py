"""Provides both databases of the log: a SQLite file and a real PostgreSQL server."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import text
from tests.servers.backend_servers import Postgres

from bookbound.server.query_log.database import QueryLogDatabase

Rows = Callable[[str], list[dict[str, Any]]]


@contextmanager
def run_postgres() -> Iterator[Postgres]:
    # Not below pytest's folder: the server runs as another user who cannot read that.
    folder = Path(tempfile.mkdtemp(prefix="bookbound-postgres-"))
    try:
        server = Postgres(folder)
    except Exception as error:
        shutil.rmtree(folder, ignore_errors=True)
        pytest.skip(f"PostgreSQL does not start here: {type(error).__name__}")
    try:
        yield server
    finally:
        server.crash()
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="session")
def server() -> Iterator[Postgres]:
    """A PostgreSQL server for every test that leaves it running."""
    with run_postgres() as server:
        yield server


@pytest.fixture
def crashable_server() -> Iterator[Postgres]:
    """A PostgreSQL server for a test that crashes it."""
    with run_postgres() as server:
        yield server


@pytest.fixture(scope="session")
def reused_url(server: Postgres) -> str:
    return server.database()


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The URL of an empty database of each kind."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'questions.db'}"
    server: Postgres = request.getfixturevalue("server")
    url: str = request.getfixturevalue("reused_url")
    server.sql("DROP SCHEMA public CASCADE", url)  # faster than a new database
    server.sql("CREATE SCHEMA public", url)
    return url


@pytest.fixture
def database(url: str, tmp_path: Path) -> Iterator[QueryLogDatabase]:
    with closing(QueryLogDatabase(url, tmp_path)) as database:
        yield database


@pytest.fixture
def rows(url: str, tmp_path: Path) -> Rows:
    """Runs a query and returns its rows by column name."""

    def read(query: str) -> list[dict[str, Any]]:
        with closing(QueryLogDatabase(url, tmp_path)) as database, database.read() as connection:
            return [dict(row) for row in connection.execute(text(query)).mappings()]

    return read
