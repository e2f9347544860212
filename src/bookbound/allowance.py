"""The nouns of a limit: how much of something is allowed, who has taken of it, and what is left."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field
from typing import Self

SPANS = {"second": 1, "minute": 60, "hour": 3600, "day": 86400}
WORDS = {1: "a second", 60: "a minute", 3600: "an hour", 86400: "a day"}
MOST = 1_000_000
EXAMPLE = "10/minute"
_RATE = re.compile(rf"(\d{{1,9}})/({'|'.join(SPANS)})", re.ASCII)


@dataclass(frozen=True, slots=True)
class Rate:
    """So many within any span of so many seconds."""

    amount: int
    seconds: int

    @classmethod
    def of(cls, text: str) -> Self:
        """The rate that a text such as 10/minute tells."""
        found = _RATE.fullmatch(text.replace(" ", ""))
        if not found or not 1 <= int(found[1]) <= MOST:
            raise ValueError(f"a rate is 1 to {MOST} in {', '.join(WORDS.values())}: {EXAMPLE}")
        return cls(int(found[1]), SPANS[found[2]])

    @property
    def span(self) -> str:
        """The span in words."""
        return WORDS.get(self.seconds, f"{self.seconds} seconds")


@dataclass(frozen=True, slots=True)
class Bucket:
    """What one session, address or key may take under the policy of a name."""

    policy: str
    who: str = field(repr=False)
    rate: Rate


@dataclass(frozen=True, slots=True)
class Left:
    """What a bucket still has, and in how many seconds it has one more, or has its first again."""

    bucket: Bucket
    remaining: int
    wait: float


@dataclass(frozen=True, slots=True)
class Allowance:
    """Whether one was taken from every bucket, or none from any; and what each has left."""

    granted: bool
    left: tuple[Left, ...]

    @property
    def tightest(self) -> Left:
        """The bucket that runs dry first; of several that are dry, the one that stays so longest."""
        return min(self.left, key=lambda left: (left.remaining, -left.wait))

    @property
    def retry_after(self) -> int:
        """Whole seconds until every bucket has one again; at least one, so that nobody comes back too early."""
        return max(1, math.ceil(max((left.wait for left in self.left if not left.remaining), default=0)))
