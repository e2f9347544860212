from __future__ import annotations

import asyncio

from bookbound.allowance import Bucket, Rate
from bookbound.limit.memory import TIDY, MemoryLimiter


def test_whoever_asks_no_more_is_forgotten() -> None:
    async def work() -> set[str]:
        limiter = MemoryLimiter()
        for number in range(50):
            await limiter.take([Bucket("question", f"192.0.2.{number}", Rate(1, 1))])
        await asyncio.sleep(1.1)
        await limiter.take([Bucket("question", "stays", Rate(TIDY, 60))])
        await asyncio.sleep(0.1)  # the storage looks for what is over a moment after a take
        for _ in range(TIDY):
            await limiter.take([Bucket("question", "stays", Rate(TIDY, 60))])
        await limiter.close()
        return set(limiter._storage.events)

    assert len(asyncio.run(work())) == 1
