"""What tests of faces share: the real application over a desk that follows a script."""

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
    """A client of the application over a desk."""
    return lambda desk: TestClient(create_app(desk, Settings()), raise_server_exceptions=False)
