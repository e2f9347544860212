"""What every limiter promises, whoever counts."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

import pytest
from tests.redis_server import RedisServer

from bookbound.domain.ports import RateLimiter
from bookbound.domain.rate_limit import RateLimit, RateLimitBucket
from bookbound.server.rate_limit.memory import FallbackLimiter, MemoryLimiter
from bookbound.server.rate_limit.redis import RedisLimiter

T = TypeVar("T")
Make = Callable[[], RateLimiter]
MINUTE = 60


@pytest.fixture(params=["memory", "redis", "standby"])
def make(request: pytest.FixtureRequest) -> Make:
    if request.param == "memory":
        return MemoryLimiter
    server: RedisServer = request.getfixturevalue("server")
    if request.param == "redis":
        return lambda: RedisLimiter(server.url, "book")
    return lambda: FallbackLimiter(RedisLimiter(server.url, "book"), MemoryLimiter())


def used(make: Make, work: Callable[[RateLimiter], Awaitable[T]]) -> T:
    async def run() -> T:
        limiter = make()
        try:
            return await work(limiter)
        finally:
            await limiter.close()

    return asyncio.run(run())


def bucket(policy: str = "question", who: str = "192.0.2.1", amount: int = 3, seconds: int = MINUTE) -> RateLimitBucket:
    return RateLimitBucket(policy, who, RateLimit(amount, seconds))


def test_as_much_as_is_allowed_is_granted_and_no_more(make: Make) -> None:
    async def work(limiter: RateLimiter) -> list[tuple[bool, int]]:
        taken = [await limiter.take([bucket()]) for _ in range(5)]
        assert all(0 < allowance.left[0].wait <= MINUTE for allowance in taken)
        return [(allowance.granted, allowance.left[0].remaining) for allowance in taken]

    assert used(make, work) == [(True, 2), (True, 1), (True, 0), (False, 0), (False, 0)]


def test_sixty_four_at_once_get_exactly_what_is_allowed(make: Make) -> None:
    async def work(limiter: RateLimiter) -> int:
        both = [bucket("session", "one", 10), bucket("address", amount=20)]
        return sum(each.granted for each in await asyncio.gather(*(limiter.take(both) for _ in range(64))))

    assert used(make, work) == 10


def test_what_one_bucket_refuses_is_taken_from_no_other(make: Make) -> None:
    async def work(limiter: RateLimiter) -> list[bool]:
        wide, narrow = bucket("address", amount=2), bucket("session", "one", 1)
        taken = [(await limiter.take([wide, narrow])).granted for _ in range(9)]
        taken.append((await limiter.take([wide])).granted)
        taken.append((await limiter.take([narrow, wide])).granted)
        return taken

    assert used(make, work) == [True, *[False] * 8, True, False]


def test_everybody_and_every_policy_has_a_bucket_of_its_own(make: Make) -> None:
    async def work(limiter: RateLimiter) -> list[bool]:
        one = [bucket("key", "a", 1), bucket("key", "b", 1), bucket("session", "a", 1)]
        return [(await limiter.take([each])).granted for each in [*one, *one]]

    assert used(make, work) == [True, True, True, False, False, False]


def test_what_was_taken_is_free_again_once_the_wait_that_was_told_is_over(make: Make) -> None:
    async def work(limiter: RateLimiter) -> list[bool]:
        short = [bucket(amount=2, seconds=1)]
        taken = [await limiter.take(short)]
        await asyncio.sleep(0.5)
        taken += [await limiter.take(short), await limiter.take(short)]
        await asyncio.sleep(taken[-1].left[0].wait + 0.01)
        taken += [await limiter.take(short), await limiter.take(short)]  # the second of the first two still counts
        return [allowance.granted for allowance in taken]

    assert used(make, work) == [True, True, False, True, False]
