"""Limits that many processes count together, in a Redis."""

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

from bookbound.allowance import Allowance, Bucket, Left
from bookbound.errors import BadReply, BadSetup, Denied, ServiceTrouble, TimedOut, Unreachable

SERVICE = "redis"
PATIENCE, IN_ALL = 0.5, 1.0
"""Seconds to connect, or for a reply; and for both, with the name looked up."""
SCHEMES = ("redis://", "rediss://", "unix://")
MICRO = 1_000_000
HUNG_UP = "closed by server"
"""How the library tells of a line that was opened and closed without a word."""

# The storage of `limits` takes from one bucket at a time, by the clock of whoever asks. This takes from all or from
# none in one step, by the one clock that all share. KEYS: a list of times for each bucket, newest first.
TAKE = """
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
        if not url.startswith(SCHEMES):
            raise _malformed()
        try:
            self._storage = RedisStorage(
                url,
                implementation="redispy",
                key_prefix=f"bookbound:{{{name}}}",
                socket_connect_timeout=PATIENCE,
                socket_timeout=PATIENCE,
                retry=cast(Any, Retry(NoBackoff(), 1, (exceptions.ConnectionError,))),  # what is late may be taken
            )
        except (ValueError, ConfigurationError):
            raise _malformed() from None
        self._bridge = cast(RedispyBridge, self._storage.bridge)
        self._take = self._bridge.storage.register_script(TAKE)
        self._secret = hashlib.sha256(secret).digest()

    async def take(self, buckets: Sequence[Bucket]) -> Allowance:
        """One from every bucket, or from none, in one step whoever else takes at the time."""
        keys = [self._key(bucket) for bucket in buckets]
        args = [number for bucket in buckets for number in (bucket.rate.amount, bucket.rate.seconds * MICRO)]
        with _translated():
            async with asyncio.timeout(IN_ALL):
                granted, *found = await self._take(keys, args)
        pairs = zip(buckets, found[::2], found[1::2], strict=True)
        return Allowance(bool(granted), tuple(Left(bucket, left, wait / MICRO) for bucket, left, wait in pairs))

    async def close(self) -> None:
        await self._bridge.storage.aclose()

    def _key(self, bucket: Bucket) -> str:
        who = hashlib.blake2b(bucket.who.encode(errors="replace"), key=self._secret, digest_size=16).hexdigest()
        return self._bridge.prefixed_key(f"{bucket.policy}:{who}")


@contextmanager
def _translated() -> Iterator[None]:
    """Within this block what goes wrong with Redis is told in our own errors, without its address."""
    try:
        yield
    except exceptions.RedisError as trouble:
        raise _told(trouble) from None
    except TimeoutError:
        raise TimedOut("Redis does not answer in time.", service=SERVICE) from None
    except OSError as trouble:
        raise Unreachable("Redis cannot be reached.", service=SERVICE) from trouble


def _told(trouble: exceptions.RedisError) -> ServiceTrouble:
    match trouble:
        case exceptions.AuthenticationError() | exceptions.AuthorizationError() | exceptions.NoPermissionError():
            return Denied("Redis does not take the name or password in `redis_url`.", service=SERVICE)
        case exceptions.TimeoutError():
            return TimedOut("Redis does not answer in time.", service=SERVICE)
        case exceptions.ConnectionError() if HUNG_UP in str(trouble):
            return Unreachable("What `redis_url` leads to hangs up: see that it is a Redis.", service=SERVICE)
        case exceptions.ConnectionError():
            return Unreachable("Redis cannot be reached.", service=SERVICE)
    return BadReply("What `redis_url` leads to does not count as a Redis does.", service=SERVICE)


def _malformed() -> BadSetup:
    return BadSetup("The setting `redis_url` must be an address such as redis://:password@host:6379/0")
