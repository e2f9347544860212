"""Evaluates answers on question sets; this module has the statistics that all reports share."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeVar

from bookbound.domain.judgement import ReplyStatus

T = TypeVar("T")
DECIMAL_PLACES = 4
MetricsDict = dict[str, Any]
"""A report or a part of it, as JSON values."""
COUNT_COLUMNS = ("asked", *(status.value for status in ReplyStatus))
"""The names of the counts of replies, in the order in which every report shows them."""


def count_replies(statuses: Iterable[ReplyStatus] | Mapping[ReplyStatus, int]) -> dict[str, int]:
    """How many questions were asked, and how many of them got each kind of reply."""
    counts = Counter(statuses)
    return dict(zip(COUNT_COLUMNS, (counts.total(), *(counts[status] for status in ReplyStatus)), strict=True))


def compute_mean(values: Sequence[bool | float]) -> float | None:
    return sum(values) / len(values) if values else None


def compute_percentile(values: Sequence[float], share: float) -> float | None:
    """The value that a share of the values does not exceed, interpolated between neighbours."""
    import numpy as np  # the report of a server needs only the counts of this module

    return float(np.quantile(values, share)) if values else None


def latency_percentiles(times: Sequence[float]) -> dict[str, float | None]:
    return {"p50": compute_percentile(times, 0.5), "p95": compute_percentile(times, 0.95)}


def round_numbers(value: T) -> T:
    """Rounds every number in a JSON value."""
    if isinstance(value, dict):
        return type(value)((name, round_numbers(each)) for name, each in value.items())
    if isinstance(value, list):
        return type(value)(map(round_numbers, value))
    return type(value)(round(value, DECIMAL_PLACES)) if isinstance(value, float) else value
