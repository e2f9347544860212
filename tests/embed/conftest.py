"""A scripted server for the embedders that ask one."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from bookbound import patience
from bookbound.testing.services import ScriptedServices


@pytest.fixture
def services(monkeypatch: pytest.MonkeyPatch) -> Iterator[ScriptedServices]:
    """A server of the test's own, lest it hear what another left on its way; nobody waits long between two tries."""
    monkeypatch.setattr(patience, "PAUSE", 0.001)
    with ScriptedServices() as services:
        yield services
