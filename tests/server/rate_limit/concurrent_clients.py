"""Simulates clients in their own process that take from the same buckets."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from bookbound.domain.rate import RateLimitBucket
from bookbound.server.rate_limit.redis import RedisLimiter


def count_allowed(url: str, clients: int, takes: int, buckets: Sequence[RateLimitBucket]) -> int:
    """How many takes of all clients are allowed."""

    async def run_client(limiter: RedisLimiter) -> int:
        return sum([(await limiter.take(buckets)).is_allowed for _ in range(takes)])

    async def run_clients() -> int:
        limiter = RedisLimiter(url, "book")
        try:
            return sum(await asyncio.gather(*(run_client(limiter) for _ in range(clients))))
        finally:
            await limiter.close()

    return asyncio.run(run_clients())
