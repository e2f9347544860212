"""Shares the real application with a scripted backend among the tests of contracts."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from fastapi.testclient import TestClient

from bookbound.server.app import create_app
from bookbound.settings import Settings
from bookbound.testing import ScriptedBackend

Serve = Callable[[ScriptedBackend], TestClient]


@pytest.fixture
def serve() -> Serve:
    """A client of the application with a backend."""
    return lambda backend: TestClient(create_app(backend, Settings()), raise_server_exceptions=False)
