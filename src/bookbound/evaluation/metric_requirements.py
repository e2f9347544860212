"""Checks metrics against the values that a user requires."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import isfinite
from typing import NamedTuple

from bookbound.domain.errors import ConfigError
from bookbound.evaluation import MetricsDict
from bookbound.evaluation.metrics import RECALL_DEPTHS

METRIC_PATHS: dict[str, tuple[str, ...]] = {
    **{f"recall@{depth}": ("retrieval", "by_question", f"recall@{depth}") for depth in RECALL_DEPTHS},
    "mrr": ("retrieval", "by_question", "mrr"),
    **{f"evidence_recall@{depth}": ("retrieval", "by_evidence", f"recall@{depth}") for depth in RECALL_DEPTHS},
    "evidence_mrr": ("retrieval", "by_evidence", "mrr"),
    **{
        name: ("answers", name)
        for name in ("answered", "evidence_found", "token_f1", "must_contain", "correct_and_cited", "precision")
    },
    "unsure": ("replies", "all", "shares", "unsure"),
    "refused": ("replies", "unanswerable", "shares", "refused"),
    "not_answered": ("replies", "unanswerable", "shares", "not_answered"),
    "refusal_precision": ("replies", "refusal_precision"),
    **{name: ("citations", name) for name in ("hold_evidence", "evidence_covered", "verbatim")},
    "ece": ("calibration", "ece"),
    "p50_ms": ("latency_ms", "all", "p50"),
    "p95_ms": ("latency_ms", "all", "p95"),
}
"""The metrics that can be required, with their paths in the report."""
LOWER_IS_BETTER = {"unsure", "ece", "p50_ms", "p95_ms"}
METRICS_BY_TYPE = ("refused", "not_answered")
"""The metrics that can also be required for one type of unanswerable question, as in `refused.near_miss`."""


class MetricRequirement(NamedTuple):
    """A value that a metric must reach or, if lower is better, may not exceed."""

    name: str
    value: float

    def describe_violation(self, metrics: MetricsDict) -> str | None:
        """How far the metric misses the requirement; None if it does not."""
        actual = _get_metric(self.name, metrics)
        if actual is None:
            return f"{self.name} has no value here: the set has no question for it."
        gap, side = actual - self.value, "above"
        if self.name not in LOWER_IS_BETTER:
            gap, side = -gap, "below"
        return f"{self.name} is {actual:.4g}, {gap:.4g} {side} the required {self.value:.4g}." if gap > 0 else None


def parse_requirements(texts: Sequence[str], types: Iterable[str]) -> list[MetricRequirement]:
    """Parses texts like `recall@5=0.8`, for a set with these types of unanswerable questions."""
    kinds = sorted(set(types))
    known = [*METRIC_PATHS, *(f"{name}.{kind}" for name in METRICS_BY_TYPE for kind in kinds)]
    requirements = []
    for text in texts:
        name, _, value = (part.strip() for part in text.rpartition("="))
        if name not in known:
            raise ConfigError(f"“{text}” is no requirement. Write NAME=VALUE, with NAME from: {', '.join(known)}.")
        try:
            number = float(value)
        except ValueError:
            number = float("nan")
        if not isfinite(number) or number < 0:
            raise ConfigError(f"The required value of {name} must be a number, 0 or more.")
        requirements.append(MetricRequirement(name, number))
    return requirements


def _get_metric(name: str, metrics: MetricsDict) -> float | None:
    metric, _, question_type = name.partition(".")
    path = ("replies", "by_type", question_type, "shares", metric) if question_type else METRIC_PATHS[name]
    value = metrics
    for key in path:
        value = value[key]
    return None if value is None else float(str(value))
