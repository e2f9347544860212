"""Which bucket limits a client most, and how long it has to wait."""

from __future__ import annotations

from bookbound.domain.rate import BucketState, RateLimit, RateLimitBucket
from bookbound.server.rate_limit import compute_retry_after, find_tightest


def make_state(policy: str, remaining: int, wait: float) -> BucketState:
    return BucketState(RateLimitBucket(policy, "client-1", RateLimit(10, 60)), remaining, wait)


def test_the_tightest_bucket_is_empty_for_longest() -> None:
    states = make_state("session", 0, 3.2), make_state("address", 0, 40.1), make_state("question", 7, 59)
    assert find_tightest(states).bucket.policy == "address"
    assert compute_retry_after(states) == 41


def test_the_wait_is_at_least_one_second() -> None:
    assert compute_retry_after([make_state("session", 0, 0.0)]) == 1
