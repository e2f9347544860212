"""Limits that one process counts for itself."""

from __future__ import annotations

import time
from collections.abc import Sequence

from limits import RateLimitItem, RateLimitItemPerSecond
from limits.storage import MemoryStorage
from limits.strategies import MovingWindowRateLimiter

from bookbound.allowance import Allowance, Bucket, Left

TIDY = 1000
"""After so many takes, whoever has taken nothing within the span is forgotten."""


class MemoryLimiter:
    """A moving window for each bucket; nothing is awaited in a take, so that no other comes between."""

    def __init__(self) -> None:
        self._storage = MemoryStorage()
        self._windows = MovingWindowRateLimiter(self._storage)
        self._takes = 0

    async def take(self, buckets: Sequence[Bucket]) -> Allowance:
        """One from every bucket, or from none."""
        counted = [(_item(bucket), bucket) for bucket in buckets]
        free = all(self._windows.test(item, bucket.policy, bucket.who) for item, bucket in counted)
        granted = free and all(self._windows.hit(item, bucket.policy, bucket.who) for item, bucket in counted)
        self._takes += 1
        if self._takes % TIDY == 0:
            self._tidy()
        return Allowance(granted, tuple(self._left(item, bucket) for item, bucket in counted))

    async def close(self) -> None:
        self._storage.timer.cancel()

    def _left(self, item: RateLimitItem, bucket: Bucket) -> Left:
        reset, remaining = self._windows.get_window_stats(item, bucket.policy, bucket.who)
        return Left(bucket, max(remaining, 0), max(reset - time.time(), 0.0))

    def _tidy(self) -> None:
        # The storage empties windows that are over, and keeps them.
        for key in [key for key, events in self._storage.events.items() if not events]:
            self._storage.clear(key)


def _item(bucket: Bucket) -> RateLimitItem:
    return RateLimitItemPerSecond(bucket.rate.amount, bucket.rate.seconds)
