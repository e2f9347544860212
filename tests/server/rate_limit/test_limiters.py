"""Rules for every limiter."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from itertools import count
from time import monotonic
from typing import TypeVar

import pytest
from tests.redis_server import RedisServer

from bookbound.domain.ports import RateLimiter
from bookbound.domain.rate import RateLimit, RateLimitBucket
from bookbound.server.rate_limit import FallbackLimiter, MemoryLimiter
from bookbound.server.rate_limit.redis import RedisLimiter

T = TypeVar("T")
MakeLimiter = Callable[[], RateLimiter]
MINUTE = 60


@pytest.fixture(params=["memory", "redis", "fallback"])
def make_limiter(request: pytest.FixtureRequest) -> MakeLimiter:
    if request.param == "memory":
        return MemoryLimiter
    server: RedisServer = request.getfixturevalue("server")
    if request.param == "redis":
        return lambda: RedisLimiter(server.url, "book")
    return lambda: FallbackLimiter(RedisLimiter(server.url, "book"), MemoryLimiter())


def run_with(make_limiter: MakeLimiter, work: Callable[[RateLimiter], Awaitable[T]]) -> T:
    async def run() -> T:
        limiter = make_limiter()
        try:
            return await work(limiter)
        finally:
            await limiter.close()

    return asyncio.run(run())


def bucket(
    policy: str = "question", client: str = "192.0.2.1", amount: int = 3, seconds: int = MINUTE
) -> RateLimitBucket:
    return RateLimitBucket(policy, client, RateLimit(amount, seconds))


def test_exactly_the_allowed_amount_is_granted(make_limiter: MakeLimiter) -> None:
    async def work(limiter: RateLimiter) -> list[tuple[bool, int]]:
        results = [await limiter.take([bucket()]) for _ in range(5)]
        assert all(0 < result.states[0].wait_seconds <= MINUTE for result in results)
        return [(result.is_allowed, result.states[0].remaining) for result in results]

    assert run_with(make_limiter, work) == [(True, 2), (True, 1), (True, 0), (False, 0), (False, 0)]


def test_concurrent_takes_get_exactly_the_allowed_amount(make_limiter: MakeLimiter) -> None:
    async def work(limiter: RateLimiter) -> int:
        both = [bucket("session", "one", 10), bucket("address", amount=20)]
        return sum(each.is_allowed for each in await asyncio.gather(*(limiter.take(both) for _ in range(64))))

    assert run_with(make_limiter, work) == 10


def test_a_refused_take_costs_no_bucket_anything(make_limiter: MakeLimiter) -> None:
    async def work(limiter: RateLimiter) -> list[bool]:
        wide, narrow = bucket("address", amount=2), bucket("session", "one", 1)
        results = [(await limiter.take([wide, narrow])).is_allowed for _ in range(9)]
        results.append((await limiter.take([wide])).is_allowed)
        results.append((await limiter.take([narrow, wide])).is_allowed)
        return results

    assert run_with(make_limiter, work) == [True, *[False] * 8, True, False]


def test_each_client_and_policy_has_its_own_bucket(make_limiter: MakeLimiter) -> None:
    async def work(limiter: RateLimiter) -> list[bool]:
        one = [bucket("key", "a", 1), bucket("key", "b", 1), bucket("session", "a", 1)]
        return [(await limiter.take([each])).is_allowed for each in [*one, *one]]

    assert run_with(make_limiter, work) == [True, True, True, False, False, False]


def test_a_bucket_refills_after_the_reported_wait(make_limiter: MakeLimiter) -> None:
    async def work(limiter: RateLimiter, client: str) -> tuple[list[bool], float]:
        short = [bucket("key", client, 2, 1)]
        start = monotonic()
        results = [await limiter.take(short)]
        await asyncio.sleep(0.5)
        results += [await limiter.take(short), await limiter.take(short)]
        await asyncio.sleep(results[-1].states[0].wait_seconds + 0.01)
        results += [await limiter.take(short), await limiter.take(short)]  # the second of the first two still counts
        return [result.is_allowed for result in results], monotonic() - start

    async def repeat(limiter: RateLimiter) -> list[bool]:
        for attempt in count():
            allowed, seconds = await work(limiter, str(attempt))
            if seconds < 1.4:  # on a slow machine more is refilled meanwhile
                return allowed
        raise AssertionError

    assert run_with(make_limiter, repeat) == [True, True, False, True, False]
