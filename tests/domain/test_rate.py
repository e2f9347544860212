"""Rates, and what is shown of a bucket."""

from __future__ import annotations

import pytest

from bookbound.domain.rate import RateLimit, RateLimitBucket


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


def test_the_repr_has_no_client() -> None:
    assert "client-1" not in repr(RateLimitBucket("session", "client-1", RateLimit(10, 60)))
