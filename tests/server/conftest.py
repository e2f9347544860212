from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from functools import partial
from pathlib import Path

import pytest
from starlette.testclient import TestClient
from tests.application_parts import share_application_parts
from tests.command_tree import share_command_tree
from tests.server.server_process import run_fast_server

from bookbound.domain.reply import Reply
from bookbound.server.app import create_app
from bookbound.settings import Settings
from bookbound.testing import ScriptedBackend

Scripted = Callable[..., TestClient]
Served = Callable[..., AbstractContextManager[str]]


@pytest.fixture(scope="session", autouse=True)
def shared_application_parts() -> Iterator[None]:
    with share_application_parts(), share_command_tree():
        yield


@pytest.fixture
def scripted() -> Scripted:
    """Makes a client of the whole application with a backend that has one reply or one error."""

    def make(script: Reply | Exception, settings: Settings | None = None) -> TestClient:
        return TestClient(create_app(ScriptedBackend(script), settings or Settings()))

    return make


@pytest.fixture(scope="session")
def served(example_index: Path) -> Served:
    """Starts the real server in its own process, with the fast reader unless told otherwise, and returns its URL."""

    return partial(run_fast_server, example_index)
