"""Both databases of the log: a SQLite file, and a real PostgreSQL server."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from evals.load.services import Postgres
from sqlalchemy import text

from bookbound.server.query_log.database import QueryLogDatabase

Rows = Callable[[str], list[dict[str, Any]]]


@contextmanager
def running() -> Iterator[Postgres]:
    """A server in a folder of its own, for as long as this lasts."""
    # Not below pytest's own folder: the server runs as another user, who must be let in.
    folder = Path(tempfile.mkdtemp(prefix="bookbound-postgres-"))
    try:
        made = Postgres(folder)
    except Exception as trouble:
        shutil.rmtree(folder, ignore_errors=True)
        pytest.skip(f"PostgreSQL does not start here: {type(trouble).__name__}")
    try:
        yield made
    finally:
        made.crash()
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="session")
def server() -> Iterator[Postgres]:
    """A PostgreSQL server for every test that leaves it running."""
    with running() as made:
        yield made


@pytest.fixture
def fragile() -> Iterator[Postgres]:
    """A PostgreSQL server for a test that crashes it."""
    with running() as made:
        yield made


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The URL of an empty database, of one kind and then of the other."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'questions.db'}"
    made: Postgres = request.getfixturevalue("server")
    return made.database()


@pytest.fixture
def database(url: str, tmp_path: Path) -> Iterator[QueryLogDatabase]:
    made = QueryLogDatabase(url, tmp_path)
    yield made
    made.close()


@pytest.fixture
def rows(url: str, tmp_path: Path) -> Rows:
    """What a query finds, by the names of the columns."""

    def found(query: str) -> list[dict[str, Any]]:
        looking = QueryLogDatabase(url, tmp_path)
        try:
            with looking.read() as connection:
                return [dict(row) for row in connection.execute(text(query)).mappings()]
        finally:
            looking.close()

    return found
