"""The shared counter goes away and comes back; limits hold all the while, and both are told once."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest
from tests.redis_server import RedisServer

from bookbound.domain.errors import ServiceUnreachableError
from bookbound.domain.rate_limit import RateLimit, RateLimitBucket, RateLimitResult
from bookbound.server.rate_limit.memory import FallbackLimiter, MemoryLimiter
from bookbound.server.rate_limit.redis import RedisLimiter

BUCKETS = [RateLimitBucket("question", "192.0.2.1", RateLimit(3, 3600))]


def test_limits_hold_while_redis_is_killed_and_started_again(
    server: RedisServer, caplog: pytest.LogCaptureFixture
) -> None:
    async def work() -> list[list[bool]]:
        limiter = FallbackLimiter(RedisLimiter(server.url, "book"), MemoryLimiter(), pause=0.1)
        taken = [[(await limiter.take(BUCKETS)).granted for _ in range(4)]]
        server.kill()
        taken.append([(await limiter.take(BUCKETS)).granted for _ in range(4)])
        await asyncio.sleep(0.1)
        taken.append([(await limiter.take(BUCKETS)).granted for _ in range(2)])
        server.start()
        await asyncio.sleep(0.1)
        taken.append([(await limiter.take(BUCKETS)).granted for _ in range(4)])
        await limiter.close()
        return taken

    held = [True, True, True, False]
    assert asyncio.run(work()) == [held, held, [False, False], held]
    assert [record.message.partition(":")[0] for record in caplog.records] == [
        "limits are counted by each process alone for now",
        "limits are counted together again",
    ]
    assert str(server.port) not in caplog.text
    assert "192.0.2.1" not in caplog.text


class Away:
    """A shared counter that nobody reaches; it keeps count of who tried."""

    tried = 0

    async def take(self, buckets: Sequence[RateLimitBucket]) -> RateLimitResult:
        self.tried += 1
        await asyncio.sleep(0)
        raise ServiceUnreachableError("It cannot be reached.", service="redis")

    async def close(self) -> None: ...


def test_while_it_is_away_one_request_a_pause_tries_it_and_no_other_waits() -> None:
    async def work() -> list[int]:
        shared = Away()
        limiter = FallbackLimiter(shared, MemoryLimiter(), pause=0.2)
        tried = []
        await limiter.take(BUCKETS)
        for _ in range(2):
            await asyncio.gather(*(limiter.take(BUCKETS) for _ in range(8)))
            tried.append(shared.tried)
            await asyncio.sleep(0.2)
        await limiter.close()
        return tried

    assert asyncio.run(work()) == [1, 2]
