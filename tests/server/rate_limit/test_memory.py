"""Counting in memory."""

from __future__ import annotations

import asyncio

import pytest

from bookbound.domain.rate import RateLimit, RateLimitBucket
from bookbound.server import rate_limit
from bookbound.server.rate_limit import CLEANUP_INTERVAL, MemoryLimiter


def test_unused_buckets_are_removed(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 100.0
    monkeypatch.setattr(rate_limit, "monotonic", lambda: now)
    limiter = MemoryLimiter()

    def take(client: str, rate: RateLimit) -> None:
        asyncio.run(limiter.take([RateLimitBucket("question", client, rate)]))

    for number in range(50):
        take(f"192.0.2.{number}", RateLimit(1, 1))
    now += 1.1
    for _ in range(CLEANUP_INTERVAL):
        take("active", RateLimit(5, 60))
    assert [bucket.client for bucket in limiter._times] == ["active"]
