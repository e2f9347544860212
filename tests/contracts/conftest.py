"""Shares the real application with a scripted backend among the tests of contracts."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from fastapi.testclient import TestClient
from tests.application_parts import share_application_parts
from tests.pipelines import remember_readings

from bookbound.server.app import create_app
from bookbound.settings import Settings
from bookbound.testing import ScriptedBackend

Serve = Callable[[ScriptedBackend], TestClient]


@pytest.fixture(scope="session", autouse=True)
def shared_application_parts() -> Iterator[None]:
    with share_application_parts():
        yield


@pytest.fixture(scope="session", autouse=True)
def remembered_readings() -> Iterator[None]:
    """Has the networks read once what several contracts are asked."""
    with remember_readings():
        yield


@pytest.fixture
def serve() -> Serve:
    """A client of the application with a backend."""
    return lambda backend: TestClient(create_app(backend, Settings()), raise_server_exceptions=False)
