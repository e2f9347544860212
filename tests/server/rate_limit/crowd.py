"""Clients in a process of their own that all take from the same buckets at once."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from bookbound.domain.rate_limit import RateLimitBucket
from bookbound.server.rate_limit.redis import RedisLimiter


def crowd(url: str, clients: int, each: int, buckets: Sequence[RateLimitBucket]) -> int:
    """How many of `each` takes by so many clients were granted."""

    async def client(limiter: RedisLimiter) -> int:
        return sum([(await limiter.take(buckets)).granted for _ in range(each)])

    async def all_of_them() -> int:
        limiter = RedisLimiter(url, "book")
        try:
            return sum(await asyncio.gather(*(client(limiter) for _ in range(clients))))
        finally:
            await limiter.close()

    return asyncio.run(all_of_them())
