"""Counting in Redis: many processes, failures, and no trace of the clients."""

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
from tests.server.rate_limit.concurrent_clients import count_allowed

from bookbound.domain.errors import (
    ConfigError,
    ServiceAuthenticationError,
    ServiceError,
    ServiceResponseError,
    ServiceTimeoutError,
    ServiceUnreachableError,
)
from bookbound.domain.rate import RateLimit, RateLimitBucket, RateLimitResult
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


@pytest.mark.slow
def test_clients_in_several_processes_never_get_more_than_the_limit(server: RedisServer) -> None:
    other = [RateLimitBucket("session", "another", RateLimit(30, 3600)), SESSIONS[1]]
    with ProcessPoolExecutor(4, multiprocessing.get_context("spawn")) as processes:
        jobs = [processes.submit(count_allowed, server.url, 16, 4, each) for each in (SESSIONS, SESSIONS, other, other)]
        first, second, third, fourth = (each.result() for each in jobs)
    # Both sessions share the 50 of the address, and what it refuses costs no session anything.
    assert first + second <= 30
    assert third + fourth <= 30
    assert first + second + third + fourth == 50
    left = {each.bucket.policy: each.remaining for each in take(server.url).states}
    assert left == {"session": 30 - first - second, "address": 0}


def test_keys_contain_no_address_or_session_and_expire(server: RedisServer) -> None:
    take(server.url, secret=b"a key")
    with redis.Redis(port=server.port) as client:
        keys = {key.decode(): client.ttl(key) for key in client.scan_iter()}
    assert sorted(key.rpartition(":")[0] for key in keys) == ["bookbound:{book}:address", "bookbound:{book}:session"]
    assert all(0 < int(seconds) <= 3600 for seconds in keys.values())
    assert not any(ADDRESS in key or SESSION in key for key in keys)
    take(server.url, secret=b"another key")
    assert len(server.keys()) == 4


def test_two_books_in_one_redis_are_counted_separately(server: RedisServer) -> None:
    async def left(name: str) -> int:
        limiter = RedisLimiter(server.url, name)
        result = await limiter.take(SESSIONS)
        await limiter.close()
        return result.states[0].remaining

    assert [asyncio.run(left(name)) for name in ("one", "two", "one")] == [29, 29, 28]


def test_a_broken_idle_connection_is_replaced(server: RedisServer) -> None:
    async def work() -> list[int]:
        limiter = RedisLimiter(server.url, "book")
        left = [(await limiter.take(SESSIONS)).states[0].remaining]
        server.crash()
        server.start()
        left.append((await limiter.take(SESSIONS)).states[0].remaining)
        await limiter.close()
        return left

    assert asyncio.run(work()) == [29, 29]


def test_a_lowered_rate_applies_at_once(server: RedisServer) -> None:
    for _ in range(3):
        take(server.url, [RateLimitBucket("key", "one", RateLimit(3, 60))])
    result = take(server.url, [RateLimitBucket("key", "one", RateLimit(2, 60))])
    assert (result.is_allowed, result.states[0].remaining) == (False, 0)


@pytest.mark.parametrize("user", ["", ":wrong@", "nobody:wrong@"])
def test_a_wrong_password_is_an_authentication_error(tmp_path: Path, user: str) -> None:
    with redis_server(tmp_path, "--requirepass", "right") as server:
        with pytest.raises(ServiceAuthenticationError) as error:
            take(f"redis://{user}127.0.0.1:{server.port}/0")
        assert "wrong" not in str(error.value)
        assert take(f"redis://:right@127.0.0.1:{server.port}/0").is_allowed


def test_a_missing_database_is_a_response_error(server: RedisServer) -> None:
    with pytest.raises(ServiceResponseError):
        take(f"redis://127.0.0.1:{server.port}/4711")


def test_a_closed_port_is_unreachable() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with pytest.raises(ServiceUnreachableError):
        take(f"redis://127.0.0.1:{port}/0")


def test_a_silent_server_is_a_timeout() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent, pytest.raises(ServiceTimeoutError):
        take(f"redis://127.0.0.1:{silent.getsockname()[1]}/0")


def test_another_kind_of_server_is_an_error() -> None:
    with ScriptedServices() as services, pytest.raises(ServiceError):
        take(services.url.replace("http://", "redis://"))


@pytest.mark.parametrize("url", ["http://localhost", "localhost:6379", "redis://host:port/0", "redis://host/zero"])
def test_an_invalid_url_is_an_error_that_does_not_repeat_it(url: str) -> None:
    with pytest.raises(ConfigError, match="redis_url") as error:
        RedisLimiter(url, "book")
    assert url not in str(error.value)
