"""Computes the metrics of a question set, and checks them against the values that a user requires."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict
from math import isfinite
from typing import NamedTuple

import bookbound
from bookbound.answering.deciding.operating_point import ActiveOperatingPoint
from bookbound.answering.pipeline import Pipeline
from bookbound.domain.errors import ConfigError
from bookbound.domain.judgement import ReplyStatus
from bookbound.evaluation import MetricsDict, compute_mean, count_replies, latency_percentiles, round_numbers
from bookbound.evaluation.runner import QuestionOutcome, build_result_row
from bookbound.evaluation.threshold_curve import (
    build_threshold_curve,
    compute_calibration_bins,
    compute_calibration_error,
)

RECALL_DEPTHS = (1, 5, 20)  # the best passage, the default number, and the most that can be asked for
NEEDS_EVIDENCE = ("evidence_found", "token_f1")
METRICS_FORMAT_VERSION = 1
Outcomes = Sequence[QuestionOutcome]


def compute_metrics(outcomes: Outcomes) -> MetricsDict:
    """All metrics; one without any question to compute it from is null."""
    answerable = [outcome for outcome in outcomes if outcome.item.answerable]
    best_ranks = [
        min((rank for rank in each.ranks if rank is not None), default=None) for each in _with_evidence(answerable)
    ]
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
                "by_question": compute_retrieval_metrics(best_ranks),
                "by_evidence": compute_retrieval_metrics([rank for outcome in answerable for rank in outcome.ranks]),
            },
            "replies": _reply_metrics(outcomes, answerable),
            "answers": _answer_metrics(outcomes, answerable),
            "citations": _citation_metrics(outcomes, answerable),
            "latency_ms": _latency_metrics(outcomes),
            "calibration": {"ece": compute_calibration_error(bins), "bins": [asdict(each) for each in bins]},
            "curve": [point.to_json() for point in build_threshold_curve(outcomes)],
            "rows": [build_result_row(outcome) for outcome in outcomes],
        }
    )


def _with_evidence(outcomes: Outcomes) -> Outcomes:
    """The questions whose evidence is known, which alone say whether it was found."""
    return [outcome for outcome in outcomes if outcome.item.evidence]


def compute_retrieval_metrics(ranks: Sequence[int | None]) -> MetricsDict:
    """Recall at each depth and the mean reciprocal rank; ranks start at 0."""
    found = {depth: [rank is not None and rank < depth for rank in ranks] for depth in RECALL_DEPTHS}
    recalls = {f"recall@{depth}": compute_mean(each) for depth, each in found.items()}
    return {**recalls, "mrr": compute_mean([0.0 if rank is None else 1 / (rank + 1) for rank in ranks])}


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
        groups = {name: _with_evidence(group) if name in NEEDS_EVIDENCE else group for name in measures}
        return {name: compute_mean([measure(each) for each in groups[name]]) for name, measure in measures.items()}

    return {
        "given": len(right),
        "answered": compute_mean([outcome.result.is_answered for outcome in answerable]),
        **compute(answerable),
        "precision": compute_mean(right),
        "where_answered": compute(answered),
    }


def _reply_metrics(outcomes: Outcomes, answerable: Outcomes) -> MetricsDict:
    """How often each kind of reply was given, also by type of unanswerable question.

    A corrected false premise is an answer, and right. `closest_with_evidence` is the share of unsure replies to
    answerable questions that show evidence, and `refusal_precision` the share of refusals that are right.
    """
    unanswerable = [outcome for outcome in outcomes if not outcome.item.answerable]
    types: dict[str, list[QuestionOutcome]] = defaultdict(list)
    for outcome in unanswerable:
        types[outcome.item.kind].append(outcome)
    refused = [outcome for outcome in outcomes if outcome.result.status is ReplyStatus.REFUSED]
    unsure = [outcome.result for outcome in _with_evidence(answerable) if outcome.result.is_unsure]
    return {
        "all": _count_group(outcomes),
        "answerable": _count_group(answerable),
        "unanswerable": _count_group(unanswerable),
        "by_type": {kind: _count_group(group) for kind, group in sorted(types.items())},
        "corrected": sum(each.result.is_answered and each.is_right(each.result) for each in unanswerable),
        "closest_with_evidence": compute_mean([any(result.closest_with_evidence) for result in unsure]),
        "refusal_precision": compute_mean([not outcome.item.answerable for outcome in refused]),
    }


def _count_group(group: Outcomes) -> MetricsDict:
    """The number and the share of each kind of reply, and the share of questions without an answer."""
    statuses = [outcome.result.status for outcome in group]
    shares = {status.value: compute_mean([each is status for each in statuses]) for status in ReplyStatus}
    not_answered = compute_mean([each is not ReplyStatus.ANSWERED for each in statuses])
    return {**count_replies(statuses), "shares": {**shares, "not_answered": not_answered}}


def _citation_metrics(outcomes: Outcomes, answerable: Outcomes) -> MetricsDict:
    answers = [outcome.result for outcome in _with_evidence(answerable) if outcome.result.is_answered]
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
