"""A scripted server for the embedders that ask one."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from bookbound.testing.scripted_services import ScriptedServices


@pytest.fixture
def services(monkeypatch: pytest.MonkeyPatch) -> Iterator[ScriptedServices]:
    """A server of the test's own, lest it hear what another left on its way; nobody waits long between two tries."""
    monkeypatch.setattr("bookbound.services.FIRST_RETRY_SECONDS", 0.001)
    with ScriptedServices() as services:
        yield services
