from __future__ import annotations

import pytest

from bookbound.domain.rate_limit import BucketState, RateLimit, RateLimitBucket, RateLimitResult


@pytest.mark.parametrize(
    ("text", "rate"),
    [
        ("10/minute", RateLimit(10, 60)),
        ("1/second", RateLimit(1, 1)),
        ("1000000/day", RateLimit(1_000_000, 86400)),
        (" 5 / hour ", RateLimit(5, 3600)),
    ],
)
def test_a_rate_is_a_number_in_a_span(text: str, rate: RateLimit) -> None:
    assert RateLimit.of(text) == rate


@pytest.mark.parametrize(
    "text",
    ["", "10", "10/week", "0/minute", "-1/minute", "1.5/minute", "1000001/day", "10/minutes", "１０/minute", "∞/day"],
)
def test_what_is_no_rate_is_told_with_one_that_is(text: str) -> None:
    with pytest.raises(ValueError, match="10/minute"):
        RateLimit.of(text)


def left(policy: str, remaining: int, wait: float) -> BucketState:
    return BucketState(RateLimitBucket(policy, "somebody", RateLimit(10, 60)), remaining, wait)


def test_the_tightest_bucket_is_the_one_that_lets_nothing_through_for_longest() -> None:
    allowance = RateLimitResult(False, (left("session", 0, 3.2), left("address", 0, 40.1), left("question", 7, 59)))
    assert allowance.tightest.bucket.policy == "address"
    assert allowance.retry_after == 41


def test_nobody_is_told_to_come_back_at_once() -> None:
    assert RateLimitResult(False, (left("session", 0, 0.0),)).retry_after == 1


def test_who_takes_is_not_shown() -> None:
    assert "somebody" not in repr(left("session", 0, 0.0))
