"""Rates, and what a result says about its buckets."""

from __future__ import annotations

import pytest

from bookbound.domain.rate import BucketState, RateLimit, RateLimitBucket, RateLimitResult


@pytest.mark.parametrize(
    ("text", "rate"),
    [
        ("10/minute", RateLimit(10, 60)),
        ("1/second", RateLimit(1, 1)),
        ("1000000/day", RateLimit(1_000_000, 86400)),
        (" 5 / hour ", RateLimit(5, 3600)),
    ],
)
def test_a_rate_is_a_number_in_a_period(text: str, rate: RateLimit) -> None:
    assert RateLimit.parse(text) == rate


@pytest.mark.parametrize(
    "text",
    ["", "10", "10/week", "0/minute", "-1/minute", "1.5/minute", "1000001/day", "10/minutes", "１０/minute", "∞/day"],
)
def test_an_invalid_rate_is_an_error_with_an_example(text: str) -> None:
    with pytest.raises(ValueError, match="10/minute"):
        RateLimit.parse(text)


def make_state(policy: str, remaining: int, wait: float) -> BucketState:
    return BucketState(RateLimitBucket(policy, "client-1", RateLimit(10, 60)), remaining, wait)


def test_the_tightest_bucket_is_empty_for_longest() -> None:
    result = RateLimitResult(
        False, (make_state("session", 0, 3.2), make_state("address", 0, 40.1), make_state("question", 7, 59))
    )
    assert result.tightest.bucket.policy == "address"
    assert result.retry_after == 41


def test_the_wait_is_at_least_one_second() -> None:
    assert RateLimitResult(False, (make_state("session", 0, 0.0),)).retry_after == 1


def test_the_repr_has_no_client() -> None:
    assert "client-1" not in repr(make_state("session", 0, 0.0))
