"""Means, percentiles and rounding, as the figures need them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

T = TypeVar("T")
PLACES = 4


def share(values: Sequence[bool | float]) -> float | None:
    """The mean, of which there is none where there are no values."""
    return sum(values) / len(values) if values else None


def percentile(values: Sequence[float], part: float) -> float | None:
    """The value that this part of the values does not exceed, between two of them where it falls there."""
    if not values:
        return None
    kept = sorted(values)
    at = part * (len(kept) - 1)
    low = kept[int(at)]
    return low + (kept[min(int(at) + 1, len(kept) - 1)] - low) * (at - int(at))


def rounded(value: T) -> T:
    """A plain value with every number in it cut to a few places."""
    if isinstance(value, dict):
        return type(value)((name, rounded(each)) for name, each in value.items())
    if isinstance(value, list):
        return type(value)(map(rounded, value))
    return type(value)(round(value, PLACES)) if isinstance(value, float) else value
