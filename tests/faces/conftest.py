"""What tests of faces share: the real application over a desk that follows a script."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from fastapi.testclient import TestClient

from bookbound.serve.app import application
from bookbound.settings import Settings
from bookbound.testing import ScriptedDesk

Serve = Callable[[ScriptedDesk], TestClient]


@pytest.fixture
def serve() -> Serve:
    """A client of the application over a desk."""
    return lambda desk: TestClient(application(desk, Settings()), raise_server_exceptions=False)
