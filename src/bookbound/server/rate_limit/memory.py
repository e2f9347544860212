"""Counts rate limits in this process, alone or as the fallback while the shared limiter is unavailable."""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence
from time import monotonic

from limits import RateLimitItem, RateLimitItemPerSecond
from limits.storage import MemoryStorage
from limits.strategies import MovingWindowRateLimiter

from bookbound.domain.errors import ServiceError
from bookbound.domain.ports import RateLimiter
from bookbound.domain.rate_limit import BucketState, RateLimitBucket, RateLimitResult

CLEANUP_EVERY_TAKES = 1000
"""After so many takes, whoever has taken nothing within the span is forgotten."""


class MemoryLimiter:
    """A moving window for each bucket; nothing is awaited in a take, so that no other comes between."""

    def __init__(self) -> None:
        self._storage = MemoryStorage()
        self._windows = MovingWindowRateLimiter(self._storage)
        self._takes = 0

    async def take(self, buckets: Sequence[RateLimitBucket]) -> RateLimitResult:
        """One from every bucket, or from none."""
        counted = [(_rate_limit_item(bucket), bucket) for bucket in buckets]
        free = all(self._windows.test(item, bucket.policy, bucket.who) for item, bucket in counted)
        granted = free and all(self._windows.hit(item, bucket.policy, bucket.who) for item, bucket in counted)
        self._takes += 1
        if self._takes % CLEANUP_EVERY_TAKES == 0:
            self._tidy()
        return RateLimitResult(granted, tuple(self._left(item, bucket) for item, bucket in counted))

    async def close(self) -> None:
        self._storage.timer.cancel()

    def _left(self, item: RateLimitItem, bucket: RateLimitBucket) -> BucketState:
        reset, remaining = self._windows.get_window_stats(item, bucket.policy, bucket.who)
        return BucketState(bucket, max(remaining, 0), max(reset - time.time(), 0.0))

    def _tidy(self) -> None:
        # The storage empties windows that are over, and keeps them.
        for key in [key for key, events in self._storage.events.items() if not events]:
            self._storage.clear(key)


def _rate_limit_item(bucket: RateLimitBucket) -> RateLimitItem:
    return RateLimitItemPerSecond(bucket.rate.amount, bucket.rate.seconds)


RETRY_SECONDS = 2.0
"""Seconds until the shared counter is tried again; one request then tries it, the others do not wait."""
log = logging.getLogger("bookbound.server.rate_limit")


class FallbackLimiter:
    """Takes from a `shared` limiter, and while that is away from one of its `own`."""

    def __init__(self, shared: RateLimiter, own: RateLimiter, pause: float = RETRY_SECONDS) -> None:
        self._shared, self._own, self._pause = shared, own, pause
        self._away, self._again = False, 0.0

    async def take(self, buckets: Sequence[RateLimitBucket]) -> RateLimitResult:
        """One from every bucket, or from none; the shared counter failing is told once, and once that it is back."""
        if self._away:
            if monotonic() < self._again:
                return await self._own.take(buckets)
            self._again = monotonic() + self._pause
        try:
            allowance = await self._shared.take(buckets)
        except ServiceError as trouble:
            self._missed(trouble)
            return await self._own.take(buckets)
        if self._away:
            self._away = False
            log.warning("limits are counted together again")
        return allowance

    async def close(self) -> None:
        await self._shared.close()
        await self._own.close()

    def _missed(self, trouble: ServiceError) -> None:
        if not self._away:
            log.warning("limits are counted by each process alone for now: %s", trouble)
        self._away, self._again = True, monotonic() + self._pause
