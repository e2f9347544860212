"""Describes rate limits, the buckets they apply to, and the result of taking from them."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field
from typing import Self

SECONDS_PER_UNIT = {"second": 1, "minute": 60, "hour": 3600, "day": 86400}
UNIT_PHRASES = {1: "a second", 60: "a minute", 3600: "an hour", 86400: "a day"}
MAX_AMOUNT = 1_000_000
EXAMPLE_RATE = "10/minute"
_RATE = re.compile(rf"(\d{{1,9}})/({'|'.join(SECONDS_PER_UNIT)})", re.ASCII)


@dataclass(frozen=True, slots=True)
class RateLimit:
    """So many within any span of so many seconds."""

    amount: int
    seconds: int

    @classmethod
    def of(cls, text: str) -> Self:
        """The rate that a text such as 10/minute tells."""
        found = _RATE.fullmatch(text.replace(" ", ""))
        if not found or not 1 <= int(found[1]) <= MAX_AMOUNT:
            raise ValueError(f"a rate is 1 to {MAX_AMOUNT} in {', '.join(UNIT_PHRASES.values())}: {EXAMPLE_RATE}")
        return cls(int(found[1]), SECONDS_PER_UNIT[found[2]])

    @property
    def span(self) -> str:
        """The span in words."""
        return UNIT_PHRASES.get(self.seconds, f"{self.seconds} seconds")


@dataclass(frozen=True, slots=True)
class RateLimitBucket:
    """What one session, address or key may take under the policy of a name."""

    policy: str
    who: str = field(repr=False)
    rate: RateLimit


@dataclass(frozen=True, slots=True)
class BucketState:
    """What a bucket still has, and in how many seconds it has one more, or has its first again."""

    bucket: RateLimitBucket
    remaining: int
    wait: float


@dataclass(frozen=True, slots=True)
class RateLimitResult:
    """Whether one was taken from every bucket, or none from any; and what each has left."""

    granted: bool
    left: tuple[BucketState, ...]

    @property
    def tightest(self) -> BucketState:
        """The bucket that runs dry first; of several that are dry, the one that stays so longest."""
        return min(self.left, key=lambda left: (left.remaining, -left.wait))

    @property
    def retry_after(self) -> int:
        """Whole seconds until every bucket has one again; at least one, so that nobody comes back too early."""
        return max(1, math.ceil(max((left.wait for left in self.left if not left.remaining), default=0)))
