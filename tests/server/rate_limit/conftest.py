"""Provides a Redis server."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.redis_server import RedisServer, redis_server


@pytest.fixture
def server(tmp_path: Path) -> Iterator[RedisServer]:
    with redis_server(tmp_path) as server:
        yield server


@pytest.fixture(autouse=True)
def wait_longer(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Redis may be slow on a busy machine."""
    if "test_limiters" in request.node.nodeid:
        monkeypatch.setattr("bookbound.server.rate_limit.redis.SOCKET_TIMEOUT_SECONDS", 30.0)
        monkeypatch.setattr("bookbound.server.rate_limit.redis.TOTAL_TIMEOUT_SECONDS", 60.0)
