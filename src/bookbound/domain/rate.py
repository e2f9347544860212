"""Describes rate limits, the buckets they apply to, and the result of taking from them."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Self

SECONDS_PER_UNIT = {"second": 1, "minute": 60, "hour": 3600, "day": 86400}
MAX_AMOUNT = 1_000_000
_RATE = re.compile(rf"(\d{{1,9}})/({'|'.join(SECONDS_PER_UNIT)})", re.ASCII)


@dataclass(frozen=True, slots=True)
class RateLimit:
    """A number of requests within any period of some seconds."""

    amount: int
    seconds: int

    @classmethod
    def parse(cls, text: str) -> Self:
        """Parses a text such as 10/minute."""
        match = _RATE.fullmatch(text.replace(" ", ""))
        if not match or not 1 <= int(match[1]) <= MAX_AMOUNT:
            units = ", ".join(SECONDS_PER_UNIT)
            raise ValueError(f"write a number from 1 to {MAX_AMOUNT} and one of {units}, such as 10/minute")
        return cls(int(match[1]), SECONDS_PER_UNIT[match[2]])

    @property
    def period(self) -> str:
        """The name of the unit, such as minute."""
        names = {seconds: name for name, seconds in SECONDS_PER_UNIT.items()}
        return names.get(self.seconds, f"{self.seconds} seconds")


@dataclass(frozen=True, slots=True)
class RateLimitBucket:
    """The requests that one client may make under a named policy; a client is a session, an address or a key."""

    policy: str
    client: str = field(repr=False)
    rate: RateLimit


@dataclass(frozen=True, slots=True)
class BucketState:
    """The requests that remain in a bucket, and the seconds until it has one more."""

    bucket: RateLimitBucket
    remaining: int
    wait_seconds: float


@dataclass(frozen=True, slots=True)
class RateLimitResult:
    """Whether one was taken from every bucket or none from any, and the state of each bucket."""

    is_allowed: bool
    states: tuple[BucketState, ...]
