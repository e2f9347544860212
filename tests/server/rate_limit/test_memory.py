from __future__ import annotations

import asyncio

from bookbound.domain.rate_limit import RateLimit, RateLimitBucket
from bookbound.server.rate_limit.memory import CLEANUP_EVERY_TAKES, MemoryLimiter


def test_whoever_asks_no_more_is_forgotten() -> None:
    async def work() -> set[str]:
        limiter = MemoryLimiter()
        for number in range(50):
            await limiter.take([RateLimitBucket("question", f"192.0.2.{number}", RateLimit(1, 1))])
        await asyncio.sleep(1.1)
        await limiter.take([RateLimitBucket("question", "stays", RateLimit(CLEANUP_EVERY_TAKES, 60))])
        await asyncio.sleep(0.1)  # the storage looks for what is over a moment after a take
        for _ in range(CLEANUP_EVERY_TAKES):
            await limiter.take([RateLimitBucket("question", "stays", RateLimit(CLEANUP_EVERY_TAKES, 60))])
        await limiter.close()
        return set(limiter._storage.events)

    assert len(asyncio.run(work())) == 1
