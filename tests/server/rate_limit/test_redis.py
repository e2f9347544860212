"""What Redis adds: many processes, its own failures, and no trace of who asked."""

from __future__ import annotations

import asyncio
import multiprocessing
import socket
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import pytest
import redis
from tests.redis_server import RedisServer, redis_server
from tests.server.rate_limit.crowd import crowd

from bookbound.domain.errors import (
    ConfigError,
    ServiceAuthenticationError,
    ServiceError,
    ServiceResponseError,
    ServiceTimeoutError,
    ServiceUnreachableError,
)
from bookbound.domain.rate_limit import RateLimit, RateLimitBucket, RateLimitResult
from bookbound.server.rate_limit.redis import RedisLimiter
from bookbound.testing.scripted_services import ScriptedServices

ADDRESS, SESSION = "203.0.113.77", "6f1d3c0e-8f4a-4c57-9f0e-2b6f5d0f7a11"
SESSIONS = [
    RateLimitBucket("session", SESSION, RateLimit(30, 3600)),
    RateLimitBucket("address", ADDRESS, RateLimit(50, 3600)),
]


def take(url: str, buckets: Sequence[RateLimitBucket] = SESSIONS, secret: bytes = b"") -> RateLimitResult:
    async def once() -> RateLimitResult:
        limiter = RedisLimiter(url, "book", secret)
        try:
            return await limiter.take(buckets)
        finally:
            await limiter.close()

    return asyncio.run(once())


def test_sixty_four_clients_in_four_processes_never_get_more_than_is_allowed(server: RedisServer) -> None:
    other = [RateLimitBucket("session", "another", RateLimit(30, 3600)), SESSIONS[1]]
    with ProcessPoolExecutor(4, multiprocessing.get_context("spawn")) as processes:
        asked = [processes.submit(crowd, server.url, 16, 4, each) for each in (SESSIONS, SESSIONS, other, other)]
        first, second, third, fourth = (each.result() for each in asked)
    # The address has 50 for both. What it refused cost no session anything: together they are at 50, and not below.
    assert first + second <= 30
    assert third + fourth <= 30
    assert first + second + third + fourth == 50
    left = {each.bucket.policy: each.remaining for each in take(server.url).left}
    assert left == {"session": 30 - first - second, "address": 0}


def test_neither_address_nor_session_is_kept_and_all_of_it_expires(server: RedisServer) -> None:
    take(server.url, secret=b"a key")
    with redis.Redis(port=server.port) as client:
        kept = {key.decode(): client.ttl(key) for key in client.scan_iter()}
    assert sorted(key.rpartition(":")[0] for key in kept) == ["bookbound:{book}:address", "bookbound:{book}:session"]
    assert all(0 < int(seconds) <= 3600 for seconds in kept.values())
    assert not any(ADDRESS in key or SESSION in key for key in kept)
    take(server.url, secret=b"another key")
    assert len(server.keys()) == 4


def test_two_books_in_one_redis_are_counted_apart(server: RedisServer) -> None:
    async def left(name: str) -> int:
        limiter = RedisLimiter(server.url, name)
        allowance = await limiter.take(SESSIONS)
        await limiter.close()
        return allowance.left[0].remaining

    assert [asyncio.run(left(name)) for name in ("one", "two", "one")] == [29, 29, 28]


def test_a_connection_that_broke_while_idle_is_made_anew(server: RedisServer) -> None:
    async def work() -> list[int]:
        limiter = RedisLimiter(server.url, "book")
        left = [(await limiter.take(SESSIONS)).left[0].remaining]
        server.kill()
        server.start()
        left.append((await limiter.take(SESSIONS)).left[0].remaining)
        await limiter.close()
        return left

    assert asyncio.run(work()) == [29, 29]


def test_a_rate_that_was_lowered_holds_at_once(server: RedisServer) -> None:
    for _ in range(3):
        take(server.url, [RateLimitBucket("key", "one", RateLimit(3, 60))])
    allowance = take(server.url, [RateLimitBucket("key", "one", RateLimit(2, 60))])
    assert (allowance.granted, allowance.left[0].remaining) == (False, 0)


@pytest.mark.parametrize("user", ["", ":wrong@", "nobody:wrong@"])
def test_a_wrong_password_is_denied(tmp_path: Path, user: str) -> None:
    with redis_server(tmp_path, "--requirepass", "right") as server:
        with pytest.raises(ServiceAuthenticationError) as denied:
            take(f"redis://{user}127.0.0.1:{server.port}/0")
        assert "wrong" not in str(denied.value)
        assert take(f"redis://:right@127.0.0.1:{server.port}/0").granted


def test_a_database_that_is_not_there_is_a_bad_reply(server: RedisServer) -> None:
    with pytest.raises(ServiceResponseError):
        take(f"redis://127.0.0.1:{server.port}/4711")


def test_nobody_there_is_unreachable() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with pytest.raises(ServiceUnreachableError):
        take(f"redis://127.0.0.1:{port}/0")


def test_a_server_that_says_nothing_is_not_waited_for() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent, pytest.raises(ServiceTimeoutError):
        take(f"redis://127.0.0.1:{silent.getsockname()[1]}/0")


def test_what_is_no_redis_is_told() -> None:
    with ScriptedServices() as services, pytest.raises(ServiceError):
        take(services.url.replace("http://", "redis://"))


@pytest.mark.parametrize("url", ["http://localhost", "localhost:6379", "redis://host:port/0", "redis://host/zero"])
def test_an_address_that_cannot_be_one_is_told_without_being_repeated(url: str) -> None:
    with pytest.raises(ConfigError, match="redis_url") as told:
        RedisLimiter(url, "book")
    assert url not in str(told.value)
