"""Limits hold while the shared limiter is unavailable, and its absence is logged once."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest
from tests.redis_server import RedisServer

from bookbound.domain.errors import ServiceUnreachableError
from bookbound.domain.rate import RateLimit, RateLimitBucket, RateLimitResult
from bookbound.server.rate_limit import FallbackLimiter, MemoryLimiter
from bookbound.server.rate_limit.redis import RedisLimiter

BUCKETS = [RateLimitBucket("question", "192.0.2.1", RateLimit(3, 3600))]


def test_limits_hold_while_redis_is_killed_and_started_again(
    server: RedisServer, caplog: pytest.LogCaptureFixture
) -> None:
    async def work() -> list[list[bool]]:
        limiter = FallbackLimiter(RedisLimiter(server.url, "book"), MemoryLimiter(), retry_seconds=0.1)
        results = [[(await limiter.take(BUCKETS)).is_allowed for _ in range(4)]]
        server.crash()
        results.append([(await limiter.take(BUCKETS)).is_allowed for _ in range(4)])
        await asyncio.sleep(0.1)
        results.append([(await limiter.take(BUCKETS)).is_allowed for _ in range(2)])
        server.start()
        await asyncio.sleep(0.1)
        results.append([(await limiter.take(BUCKETS)).is_allowed for _ in range(4)])
        await limiter.close()
        return results

    expected = [True, True, True, False]
    assert asyncio.run(work()) == [expected, expected, [False, False], expected]
    assert [record.message.partition(":")[0] for record in caplog.records] == [
        "each process counts rate limits alone for now",
        "rate limits are shared again",
    ]
    assert str(server.port) not in caplog.text
    assert "192.0.2.1" not in caplog.text


class UnavailableLimiter:
    """Counts how often it is tried."""

    tried = 0

    async def take(self, buckets: Sequence[RateLimitBucket]) -> RateLimitResult:
        self.tried += 1
        await asyncio.sleep(0)
        raise ServiceUnreachableError("It cannot be reached.", service="redis")

    async def close(self) -> None: ...


def test_one_request_per_pause_tries_the_shared_limiter(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 1000.0
    monkeypatch.setattr("bookbound.server.rate_limit.monotonic", lambda: now)

    async def work() -> list[int]:
        nonlocal now
        shared = UnavailableLimiter()
        limiter = FallbackLimiter(shared, MemoryLimiter(), retry_seconds=20)
        tried = []
        await limiter.take(BUCKETS)
        for _ in range(2):
            await asyncio.gather(*(limiter.take(BUCKETS) for _ in range(8)))
            tried.append(shared.tried)
            now += 20
        await limiter.close()
        return tried

    assert asyncio.run(work()) == [1, 2]
