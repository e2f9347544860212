from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import partial
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from bookbound import bootstrap
from bookbound.domain.reply import Reply
from bookbound.server.app import create_app
from bookbound.settings import Settings
from bookbound.testing import ScriptedBackend
from evals import server

Scripted = Callable[..., TestClient]
Served = Callable[..., AbstractContextManager[str]]


@pytest.fixture
def scripted() -> Scripted:
    """Makes a client of the whole application over a desk that gives one reply, or raises one error."""

    def make(script: Reply | Exception, settings: Settings | None = None) -> TestClient:
        return TestClient(create_app(ScriptedBackend(script), settings or Settings()))

    return make


@pytest.fixture(scope="session")
def example_index(example_book: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The example book, indexed with the real parts."""
    folder = tmp_path_factory.mktemp("example") / "index"
    bootstrap.index_book(example_book, Settings(index=folder))
    return folder


@pytest.fixture(scope="session")
def served(example_index: Path) -> Served:
    """Starts the real server in a process of its own, on a free port, and gives its address."""

    return partial(server.served, example_index)
