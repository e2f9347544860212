from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.redis_server import RedisServer, redis_server


@pytest.fixture
def server(tmp_path: Path) -> Iterator[RedisServer]:
    with redis_server(tmp_path) as running:
        yield running


@pytest.fixture(autouse=True)
def patient(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine that is busy with other tests may keep Redis waiting: where it is there, it is waited for."""
    if "test_limiter" in request.node.nodeid:
        monkeypatch.setattr("bookbound.server.rate_limit.redis.SOCKET_TIMEOUT_SECONDS", 30.0)
        monkeypatch.setattr("bookbound.server.rate_limit.redis.TOTAL_TIMEOUT_SECONDS", 60.0)
