"""Counts rate limits in Redis, shared by all processes."""

from __future__ import annotations

import asyncio
import hashlib
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from redis import exceptions
from redis.asyncio import Redis
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff

from bookbound.domain import errors
from bookbound.domain.rate import BucketState, RateLimitBucket, RateLimitResult

SERVICE = "redis"
SOCKET_TIMEOUT_SECONDS, TOTAL_TIMEOUT_SECONDS = 0.5, 1.0
URL_PATTERN = re.compile(r"unix://.+|rediss?://[^/?]*(/\d*)?(\?.*)?")
"""Stricter than redis-py, which ignores a database that is not a number."""
MICROSECONDS_PER_SECOND = 1_000_000
CONNECTION_CLOSED = "closed by server"
"""The library's message for a connection that is closed without a reply."""
# Takes from all buckets or from none in one step, by the clock of Redis. KEYS: the times of each bucket, newest first.
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
local result = {full and 0 or 1}
for i, key in ipairs(KEYS) do
    local amount, span = tonumber(ARGV[2 * i - 1]), tonumber(ARGV[2 * i])
    if not full then
        redis.call('LPUSH', key, string.format('%.0f', now))
        redis.call('PEXPIRE', key, math.ceil(span / 1000))
    end
    local taken = redis.call('LLEN', key)
    local first = redis.call('LINDEX', key, math.min(taken, amount) - 1)
    table.insert(result, math.max(amount - taken, 0))
    table.insert(result, taken > 0 and tonumber(first) + span - now or 0)
end
return result
"""


class RedisLimiter:
    """Keeps the times of takes for each bucket, under the name of the book and a hash of the client."""

    def __init__(self, url: str, name: str, secret: bytes = b"") -> None:
        invalid = errors.ConfigError("The setting `redis_url` must be a URL such as redis://:password@host:6379/0")
        if not URL_PATTERN.fullmatch(url):
            raise invalid
        try:
            self._redis = Redis.from_url(
                url,
                socket_connect_timeout=SOCKET_TIMEOUT_SECONDS,
                socket_timeout=SOCKET_TIMEOUT_SECONDS,
                # No retry after a timeout: the script may already have run.
                retry=Retry(NoBackoff(), 1, (exceptions.ConnectionError,)),
            )
        except ValueError:
            raise invalid from None
        self._take = self._redis.register_script(TAKE_SCRIPT)
        self._prefix, self._secret = f"bookbound:{{{name}}}", hashlib.sha256(secret).digest()

    async def take(self, buckets: Sequence[RateLimitBucket]) -> RateLimitResult:
        keys, arguments = [self._key(bucket) for bucket in buckets], list[int]()
        for bucket in buckets:
            arguments += (bucket.rate.amount, bucket.rate.seconds * MICROSECONDS_PER_SECOND)
        with _translate_errors():
            async with asyncio.timeout(TOTAL_TIMEOUT_SECONDS):
                is_allowed, *numbers = await self._take(keys, arguments)
        rows = zip(buckets, numbers[::2], numbers[1::2], strict=True)
        states = (BucketState(bucket, remaining, wait / MICROSECONDS_PER_SECOND) for bucket, remaining, wait in rows)
        return RateLimitResult(bool(is_allowed), tuple(states))

    async def close(self) -> None:
        await self._redis.aclose()

    def _key(self, bucket: RateLimitBucket) -> str:
        client = hashlib.blake2b(bucket.client.encode(errors="replace"), key=self._secret, digest_size=16).hexdigest()
        return f"{self._prefix}:{bucket.policy}:{client}"


@contextmanager
def _translate_errors() -> Iterator[None]:
    """Raises our own errors, without the address of Redis."""
    try:
        yield
    except (exceptions.RedisError, OSError) as error:
        kind, message = _describe_failure(error)
        raise kind(message, service=SERVICE) from None


def _describe_failure(error: exceptions.RedisError | OSError) -> tuple[type[errors.ServiceError], str]:
    match error:
        case exceptions.AuthenticationError() | exceptions.AuthorizationError() | exceptions.NoPermissionError():
            return errors.ServiceAuthenticationError, "Redis rejects the user or the password in `redis_url`."
        case exceptions.TimeoutError() | TimeoutError():
            return errors.ServiceTimeoutError, "Redis does not answer in time."
        case exceptions.ConnectionError() if CONNECTION_CLOSED in str(error):
            return (
                errors.ServiceUnreachableError,
                "The server in `redis_url` closes the connection. Check that it is Redis.",
            )
        case exceptions.ConnectionError() | OSError():
            return errors.ServiceUnreachableError, "Redis cannot be reached."
    return errors.ServiceResponseError, "The server in `redis_url` does not work like Redis."
