from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.redis_server import RedisServer, redis_server


@pytest.fixture
def server(tmp_path: Path) -> Iterator[RedisServer]:
    with redis_server(tmp_path) as running:
        yield running
