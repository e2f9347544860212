"""Counts rate limits in this process, alone or as the fallback while the shared limiter is unavailable."""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Sequence
from time import monotonic

from bookbound.domain.errors import ServiceError
from bookbound.domain.ports import RateLimiter
from bookbound.domain.rate import BucketState, RateLimitBucket, RateLimitResult

CLEANUP_INTERVAL = 1000
"""How many takes pass between two removals of unused buckets."""
RETRY_SECONDS = 2.0
"""How long the fallback counts before one request tries the shared limiter again."""
log = logging.getLogger("bookbound.server.rate_limit")


class MemoryLimiter:
    """Keeps the times of takes for each bucket; a take awaits nothing, so that no other comes in between."""

    def __init__(self) -> None:
        self._times: dict[RateLimitBucket, deque[float]] = {}
        self._takes = 0

    async def take(self, buckets: Sequence[RateLimitBucket]) -> RateLimitResult:
        now = monotonic()
        self._takes += 1
        if self._takes % CLEANUP_INTERVAL == 0:
            self._times = {bucket: times for bucket, times in self._times.items() if times[-1] > _start(bucket, now)}
        windows = {bucket: self._window(bucket, now) for bucket in buckets}
        is_allowed = all(len(times) < bucket.rate.amount for bucket, times in windows.items())
        if is_allowed:
            for bucket, times in windows.items():
                times.append(now)
                self._times[bucket] = times
        return RateLimitResult(
            is_allowed,
            tuple(
                BucketState(bucket, bucket.rate.amount - len(times), times[0] - _start(bucket, now) if times else 0.0)
                for bucket, times in windows.items()
            ),
        )

    async def close(self) -> None: ...

    def _window(self, bucket: RateLimitBucket, now: float) -> deque[float]:
        """The times within the period of a bucket, oldest first."""
        times = self._times.get(bucket, deque())
        while times and times[0] <= _start(bucket, now):
            times.popleft()
        return times


def _start(bucket: RateLimitBucket, now: float) -> float:
    return now - bucket.rate.seconds


class FallbackLimiter:
    """Takes from a shared limiter, or from a local one while the shared one is unavailable."""

    def __init__(self, shared: RateLimiter, local: RateLimiter, retry_seconds: float = RETRY_SECONDS) -> None:
        self._shared, self._local, self._retry_seconds = shared, local, retry_seconds
        self._is_unavailable, self._retry_time = False, 0.0

    async def take(self, buckets: Sequence[RateLimitBucket]) -> RateLimitResult:
        """Logs once that the shared limiter is unavailable, and once that it is back."""
        if self._is_unavailable:
            if monotonic() < self._retry_time:
                return await self._local.take(buckets)
            self._retry_time = monotonic() + self._retry_seconds
        try:
            result = await self._shared.take(buckets)
        except ServiceError as error:
            if not self._is_unavailable:
                log.warning("each process counts rate limits alone for now: %s", error)
            self._is_unavailable, self._retry_time = True, monotonic() + self._retry_seconds
            return await self._local.take(buckets)
        if self._is_unavailable:
            self._is_unavailable = False
            log.warning("rate limits are shared again")
        return result

    async def close(self) -> None:
        await self._shared.close()
        await self._local.close()
