"""Computes the metrics of a question set and checks them against required values."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict
from math import isfinite
from typing import NamedTuple

import bookbound
from bookbound.answering.operating_point import ActiveOperatingPoint
from bookbound.answering.pipeline import Pipeline
from bookbound.domain.errors import ConfigError
from bookbound.evaluation import MetricsDict, compute_mean, latency_percentiles, round_numbers
from bookbound.evaluation.runner import GradedReply, QuestionOutcome, build_result_row
from bookbound.evaluation.threshold_curve import (
    build_threshold_curve,
    compute_calibration_bins,
    compute_calibration_error,
)

RECALL_DEPTHS = (1, 5, 20)
METRICS_FORMAT_VERSION = 1
Outcomes = Sequence[QuestionOutcome]


def compute_metrics(outcomes: Outcomes) -> MetricsDict:
    """All metrics; one without any question to compute it from is null."""
    answerable = [outcome for outcome in outcomes if outcome.item.answerable]
    best_ranks = [min((rank for rank in each.ranks if rank is not None), default=None) for each in answerable]
    bins = compute_calibration_bins(outcomes)
    return round_numbers(
        {
            "format": METRICS_FORMAT_VERSION,
            "questions": {
                "all": len(outcomes),
                "answerable": len(answerable),
                "unanswerable": len(outcomes) - len(answerable),
            },
            "retrieval": {
                "by_question": _retrieval_metrics(best_ranks),
                "by_evidence": _retrieval_metrics([rank for outcome in answerable for rank in outcome.ranks]),
            },
            "answers": _answer_metrics(outcomes, answerable),
            "unsure": _unsure_metrics(outcomes),
            "refusals": _refusal_metrics(outcomes),
            "citations": _citation_metrics(outcomes, answerable),
            "latency_ms": _latency_metrics(outcomes),
            "calibration": {"ece": compute_calibration_error(bins), "bins": [asdict(each) for each in bins]},
            "curve": [point.to_json() for point in build_threshold_curve(outcomes)],
            "rows": [build_result_row(outcome) for outcome in outcomes],
        }
    )


def _retrieval_metrics(ranks: Sequence[int | None]) -> MetricsDict:
    metrics: MetricsDict = {}
    for depth in RECALL_DEPTHS:
        metrics[f"recall@{depth}"] = compute_mean([rank is not None and rank < depth for rank in ranks])
    return metrics | {"mrr": compute_mean([0.0 if rank is None else 1 / (rank + 1) for rank in ranks])}


def _answer_metrics(outcomes: Outcomes, answerable: Outcomes) -> MetricsDict:
    """Over all answerable questions, with 0 for a refusal, and over those that were answered."""
    answered = [outcome for outcome in answerable if outcome.result.is_answered]
    right = [outcome.is_right(outcome.result) for outcome in outcomes if outcome.result.is_answered]
    measures: dict[str, Callable[[QuestionOutcome], bool | float]] = {
        "evidence_found": lambda outcome: outcome.result.cites_evidence,
        "token_f1": lambda outcome: outcome.result.token_f1,
        "must_contain": lambda outcome: outcome.result.has_required_text,
        "correct_and_cited": lambda outcome: outcome.is_right(outcome.result),
    }

    def compute(group: Outcomes) -> MetricsDict:
        return {name: compute_mean([measure(each) for each in group]) for name, measure in measures.items()}

    return {
        "given": len(right),
        "answered": compute_mean([outcome.result.is_answered for outcome in answerable]),
        **compute(answerable),
        "precision": compute_mean(right),
        "where_answered": compute(answered),
    }


def _unsure_metrics(outcomes: Outcomes) -> MetricsDict:
    """The shares of unsure replies, and how many of those to answerable questions show evidence.

    An unsure reply is no answer, so it also counts as refused.
    """
    answerable = [outcome for outcome in outcomes if outcome.item.answerable]
    groups = {
        "all": outcomes,
        "answerable": answerable,
        "unanswerable": [outcome for outcome in outcomes if not outcome.item.answerable],
    }
    shown = [any(outcome.result.closest_with_evidence) for outcome in answerable if outcome.result.is_unsure]
    shares = {name: compute_mean([each.result.is_unsure for each in group]) for name, group in groups.items()}
    return {**shares, "hold_evidence": compute_mean(shown)}


def _refusal_metrics(outcomes: Outcomes) -> MetricsDict:
    """Recall and precision of refusals, for all and for each kind of unanswerable question.

    The precision of a kind counts its refusals together with all wrong refusals of answerable questions. A corrected
    false premise is right but not refused, so it is counted separately.
    """
    kinds: dict[bool, dict[str, list[QuestionOutcome]]] = {True: defaultdict(list), False: defaultdict(list)}
    for outcome in outcomes:
        kinds[outcome.item.answerable][outcome.item.kind].append(outcome)
    wrong = {
        kind: {"questions": len(group), "refused": _count_refused(group)} for kind, group in sorted(kinds[True].items())
    }
    wrong_count = sum(each["refused"] for each in wrong.values())
    return {
        **_refusal_scores([outcome for group in kinds[False].values() for outcome in group], wrong_count),
        "by_kind": {kind: _refusal_scores(group, wrong_count) for kind, group in sorted(kinds[False].items())},
        "wrongly_refused": wrong,
    }


def _refusal_scores(group: Outcomes, wrong_count: int) -> MetricsDict:
    refused = _count_refused(group)
    return {
        "questions": len(group),
        "refused": refused,
        "corrected": sum(each.result.is_answered and each.is_right(each.result) for each in group),
        "precision": refused / (refused + wrong_count) if refused + wrong_count else None,
        "recall": refused / len(group) if group else None,
    }


def _count_refused(group: Outcomes) -> int:
    return sum(not outcome.result.is_answered for outcome in group)


def _citation_metrics(outcomes: Outcomes, answerable: Outcomes) -> MetricsDict:
    answers: list[GradedReply] = [outcome.result for outcome in answerable if outcome.result.is_answered]
    verbatim = [each for outcome in outcomes for each in outcome.result.verbatim_citations]
    return {
        "citations": len(verbatim),
        "hold_evidence": compute_mean([each for answer in answers for each in answer.citations_with_evidence]),
        "evidence_covered": compute_mean([answer.evidence_coverage for answer in answers]),
        "verbatim": compute_mean(verbatim),
    }


def _latency_metrics(outcomes: Outcomes) -> MetricsDict:
    stages: dict[str, list[float]] = defaultdict(list)
    for outcome in outcomes:
        for stage, milliseconds in outcome.result.reply.trace.milliseconds.items():
            stages[stage].append(milliseconds)
    return {
        "all": latency_percentiles([outcome.milliseconds for outcome in outcomes]),
        "by_stage": {stage: latency_percentiles(times) for stage, times in stages.items()},
    }


METRIC_PATHS: dict[str, tuple[str, ...]] = {
    **{f"recall@{depth}": ("retrieval", "by_question", f"recall@{depth}") for depth in RECALL_DEPTHS},
    "mrr": ("retrieval", "by_question", "mrr"),
    **{f"evidence_recall@{depth}": ("retrieval", "by_evidence", f"recall@{depth}") for depth in RECALL_DEPTHS},
    "evidence_mrr": ("retrieval", "by_evidence", "mrr"),
    **{
        name: ("answers", name)
        for name in ("answered", "evidence_found", "token_f1", "must_contain", "correct_and_cited", "precision")
    },
    "unsure": ("unsure", "all"),
    "refusal_precision": ("refusals", "precision"),
    "refusal_recall": ("refusals", "recall"),
    **{name: ("citations", name) for name in ("hold_evidence", "evidence_covered", "verbatim")},
    "ece": ("calibration", "ece"),
    "p50_ms": ("latency_ms", "all", "p50"),
    "p95_ms": ("latency_ms", "all", "p95"),
}
"""The metrics that can be required, with their paths in the report."""
LOWER_IS_BETTER = {"unsure", "ece", "p50_ms", "p95_ms"}
REFUSED_KIND_PREFIX = "refused."
"""Followed by a kind of unanswerable question: the share of them that is refused."""


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


def parse_requirements(texts: Sequence[str], kinds: Iterable[str]) -> list[MetricRequirement]:
    """Parses texts like `recall@5=0.8`, for a set with these kinds of unanswerable questions."""
    known = [*METRIC_PATHS, *(REFUSED_KIND_PREFIX + kind for kind in sorted(set(kinds)))]
    requirements = []
    for text in texts:
        name, _, value = (part.strip() for part in text.rpartition("="))
        if name not in known:
            raise ConfigError(f"A requirement is NAME=VALUE. Choose NAME from: {', '.join(known)}.")
        try:
            number = float(value)
        except ValueError:
            number = float("nan")
        if not isfinite(number) or number < 0:
            raise ConfigError(f"The required value of {name} must be a number, 0 or more.")
        requirements.append(MetricRequirement(name, number))
    return requirements


def _get_metric(name: str, metrics: MetricsDict) -> float | None:
    if name.startswith(REFUSED_KIND_PREFIX):
        path: tuple[str, ...] = ("refusals", "by_kind", name.removeprefix(REFUSED_KIND_PREFIX), "recall")
    else:
        path = METRIC_PATHS[name]
    value = metrics
    for key in path:
        value = value[key]
    return None if value is None else float(str(value))


def build_evaluation_report(pipeline: Pipeline, outcomes: Outcomes, active: ActiveOperatingPoint) -> MetricsDict:
    """The complete report as JSON."""
    manifest = pipeline.book.manifest
    return {
        "bookbound": bookbound.__version__,
        "index": {
            "title": manifest.title,
            "generation": manifest.generation,
            "embedder": manifest.embedder,
            "chunks": manifest.chunks,
        },
        "operating_point": {**active.point.to_json(), "origin": active.origin},
        **compute_metrics(outcomes),
    }
