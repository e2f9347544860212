"""Runs a real Redis server on a free port."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import redis
from tests.servers.backend_servers import Redis


class RedisServer(Redis):
    """A Redis server whose keys can be listed."""

    def keys(self) -> list[str]:
        with redis.Redis(port=self.port, decode_responses=True) as client:
            return sorted(str(key) for key in client.scan_iter())


@contextmanager
def redis_server(folder: Path, *options: str) -> Iterator[RedisServer]:
    """Runs a server, or skips the test if Redis is not installed."""
    if not Redis.is_installed():
        pytest.skip("redis-server is not installed")
    server = RedisServer(folder, *options)
    try:
        yield server
    finally:
        server.crash()
