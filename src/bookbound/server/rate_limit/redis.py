"""Counts rate limits in Redis, shared by all processes."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, cast

from limits.aio.storage import RedisStorage
from limits.aio.storage.redis.redispy import RedispyBridge
from limits.errors import ConfigurationError
from redis import exceptions
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff

from bookbound.domain.errors import (
    ConfigError,
    ServiceAuthenticationError,
    ServiceError,
    ServiceResponseError,
    ServiceTimeoutError,
    ServiceUnreachableError,
)
from bookbound.domain.rate_limit import BucketState, RateLimitBucket, RateLimitResult

SERVICE = "redis"
SOCKET_TIMEOUT_SECONDS, TOTAL_TIMEOUT_SECONDS = 0.5, 1.0
"""Seconds to connect, or for a reply; and for both, with the name looked up."""
URL_SCHEMES = ("redis://", "rediss://", "unix://")
MICROSECONDS_PER_SECOND = 1_000_000
CONNECTION_CLOSED = "closed by server"
"""How the library tells of a line that was opened and closed without a word."""
# The storage of `limits` takes from one bucket at a time, by the clock of whoever asks. This takes from all or from
# none in one step, by the one clock that all share. KEYS: a list of times for each bucket, newest first.
TAKE_SCRIPT = """
local clock = redis.call('TIME')
local now = clock[1] * 1000000 + clock[2]
local full = false
for i, key in ipairs(KEYS) do
    local amount, span = tonumber(ARGV[2 * i - 1]), tonumber(ARGV[2 * i])
    local oldest = redis.call('LINDEX', key, -1)
    while oldest and tonumber(oldest) <= now - span do
        redis.call('RPOP', key)
        oldest = redis.call('LINDEX', key, -1)
    end
    full = full or redis.call('LLEN', key) >= amount
end
local left = {full and 0 or 1}
for i, key in ipairs(KEYS) do
    local amount, span = tonumber(ARGV[2 * i - 1]), tonumber(ARGV[2 * i])
    if not full then
        redis.call('LPUSH', key, string.format('%.0f', now))
        redis.call('PEXPIRE', key, math.ceil(span / 1000))
    end
    local taken = redis.call('LLEN', key)
    local first = redis.call('LINDEX', key, math.min(taken, amount) - 1)
    table.insert(left, math.max(amount - taken, 0))
    table.insert(left, taken > 0 and tonumber(first) + span - now or 0)
end
return left
"""


class RedisLimiter:
    """A moving window for each bucket, kept under the `name` of the book and a hash of who takes from it."""

    def __init__(self, url: str, name: str, secret: bytes = b"") -> None:
        if not url.startswith(URL_SCHEMES):
            raise _invalid_url_error()
        try:
            self._storage = RedisStorage(
                url,
                implementation="redispy",
                key_prefix=f"bookbound:{{{name}}}",
                socket_connect_timeout=SOCKET_TIMEOUT_SECONDS,
                socket_timeout=SOCKET_TIMEOUT_SECONDS,
                retry=cast(Any, Retry(NoBackoff(), 1, (exceptions.ConnectionError,))),  # what is late may be taken
            )
        except (ValueError, ConfigurationError):
            raise _invalid_url_error() from None
        self._bridge = cast(RedispyBridge, self._storage.bridge)
        self._take = self._bridge.storage.register_script(TAKE_SCRIPT)
        self._secret = hashlib.sha256(secret).digest()

    async def take(self, buckets: Sequence[RateLimitBucket]) -> RateLimitResult:
        """One from every bucket, or from none, in one step whoever else takes at the time."""
        keys = [self._key(bucket) for bucket in buckets]
        args = [
            number
            for bucket in buckets
            for number in (bucket.rate.amount, bucket.rate.seconds * MICROSECONDS_PER_SECOND)
        ]
        with _translate_errors():
            async with asyncio.timeout(TOTAL_TIMEOUT_SECONDS):
                granted, *found = await self._take(keys, args)
        pairs = zip(buckets, found[::2], found[1::2], strict=True)
        return RateLimitResult(
            bool(granted),
            tuple(BucketState(bucket, left, wait / MICROSECONDS_PER_SECOND) for bucket, left, wait in pairs),
        )

    async def close(self) -> None:
        await self._bridge.storage.aclose()

    def _key(self, bucket: RateLimitBucket) -> str:
        who = hashlib.blake2b(bucket.who.encode(errors="replace"), key=self._secret, digest_size=16).hexdigest()
        return self._bridge.prefixed_key(f"{bucket.policy}:{who}")


@contextmanager
def _translate_errors() -> Iterator[None]:
    """Within this block what goes wrong with Redis is told in our own errors, without its address."""
    try:
        yield
    except exceptions.RedisError as trouble:
        raise _to_service_error(trouble) from None
    except TimeoutError:
        raise ServiceTimeoutError("Redis does not answer in time.", service=SERVICE) from None
    except OSError as trouble:
        raise ServiceUnreachableError("Redis cannot be reached.", service=SERVICE) from trouble


def _to_service_error(trouble: exceptions.RedisError) -> ServiceError:
    match trouble:
        case exceptions.AuthenticationError() | exceptions.AuthorizationError() | exceptions.NoPermissionError():
            return ServiceAuthenticationError(
                "Redis does not take the name or password in `redis_url`.", service=SERVICE
            )
        case exceptions.TimeoutError():
            return ServiceTimeoutError("Redis does not answer in time.", service=SERVICE)
        case exceptions.ConnectionError() if CONNECTION_CLOSED in str(trouble):
            return ServiceUnreachableError(
                "What `redis_url` leads to hangs up: see that it is a Redis.", service=SERVICE
            )
        case exceptions.ConnectionError():
            return ServiceUnreachableError("Redis cannot be reached.", service=SERVICE)
    return ServiceResponseError("What `redis_url` leads to does not count as a Redis does.", service=SERVICE)


def _invalid_url_error() -> ConfigError:
    return ConfigError("The setting `redis_url` must be an address such as redis://:password@host:6379/0")
