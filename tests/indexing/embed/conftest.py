"""A scripted server for the embedders that use a service."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from bookbound.testing.scripted_services import ScriptedServices


@pytest.fixture
def services(monkeypatch: pytest.MonkeyPatch) -> Iterator[ScriptedServices]:
    """A new server for each test, so that late requests of another test do not reach it; retries are immediate."""
    monkeypatch.setattr("bookbound.services.FIRST_RETRY_SECONDS", 0.001)
    with ScriptedServices() as services:
        yield services
