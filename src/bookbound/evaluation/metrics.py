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
from bookbound.evaluation.runner import MetricsDict, QuestionOutcome, build_result_row
from bookbound.evaluation.threshold_curve import (
    build_threshold_curve,
    compute_calibration_bins,
    compute_calibration_error,
    compute_mean,
    compute_percentile,
    round_numbers,
)

RECALL_DEPTHS = (1, 5, 20)
METRICS_FORMAT_VERSION = 1
QuoteRanks = Sequence[int | None]


def compute_metrics(outcomes: Sequence[QuestionOutcome]) -> MetricsDict:
    """Everything that is measured; a figure that nothing speaks for is null."""
    answerable = [outcome for outcome in outcomes if outcome.item.answerable]
    bins = compute_calibration_bins(outcomes)
    measured: MetricsDict = {
        "format": METRICS_FORMAT_VERSION,
        "questions": {
            "all": len(outcomes),
            "answerable": len(answerable),
            "unanswerable": len(outcomes) - len(answerable),
        },
        "retrieval": {
            "by_question": _retrieval_metrics([_best_rank(outcome.ranks) for outcome in answerable]),
            "by_evidence": _retrieval_metrics([rank for outcome in answerable for rank in outcome.ranks]),
        },
        "answers": _answer_metrics(outcomes, answerable),
        "refusals": _refusal_metrics(outcomes),
        "citations": _citation_metrics(answerable, outcomes),
        "latency_ms": _latency_metrics(outcomes),
        "calibration": {"ece": compute_calibration_error(bins), "bins": [asdict(each) for each in bins]},
        "curve": [row.plain() for row in build_threshold_curve(outcomes)],
        "rows": [build_result_row(outcome) for outcome in outcomes],
    }
    return round_numbers(measured)


def _best_rank(ranks: QuoteRanks) -> int | None:
    return min((rank for rank in ranks if rank is not None), default=None)


def _retrieval_metrics(ranks: QuoteRanks) -> MetricsDict:
    recall = {
        f"recall@{depth}": compute_mean([rank is not None and rank < depth for rank in ranks])
        for depth in RECALL_DEPTHS
    }
    return {**recall, "mrr": compute_mean([0.0 if rank is None else 1 / (rank + 1) for rank in ranks])}


def _answer_metrics(outcomes: Sequence[QuestionOutcome], answerable: Sequence[QuestionOutcome]) -> MetricsDict:
    """Over all answerable questions, where one that is refused counts nothing, and over those that were answered."""
    given = [outcome for outcome in outcomes if outcome.given.answered]
    measures: dict[str, Callable[[QuestionOutcome], bool | float]] = {
        "evidence_found": lambda outcome: outcome.given.cited,
        "token_f1": lambda outcome: outcome.given.token_f1,
        "must_contain": lambda outcome: outcome.given.contained,
        "correct_and_cited": lambda outcome: outcome.right(outcome.given),
    }
    answered = [outcome for outcome in answerable if outcome.given.answered]
    return {
        "given": len(given),
        "answered": compute_mean([outcome.given.answered for outcome in answerable]),
        **{name: compute_mean([measure(each) for each in answerable]) for name, measure in measures.items()},
        "precision": compute_mean([outcome.right(outcome.given) for outcome in given]),
        "where_answered": {
            name: compute_mean([measure(each) for each in answered]) for name, measure in measures.items()
        },
    }


def _refusal_metrics(outcomes: Sequence[QuestionOutcome]) -> MetricsDict:
    """Recall: how many that should be refused are. Precision: how many of the refused should be.

    The precision of a kind is that of its refusals together with the wrong ones of answerable questions. A false
    premise that is corrected is right and not refused, so it counts beside them.
    """
    kinds: dict[bool, dict[str, list[QuestionOutcome]]] = {True: defaultdict(list), False: defaultdict(list)}
    for outcome in outcomes:
        kinds[outcome.item.answerable][outcome.item.kind].append(outcome)
    wrong = sum(_count_refused(asked) for asked in kinds[True].values())
    every = [outcome for asked in kinds[False].values() for outcome in asked]
    return {
        **_refusal_scores(every, wrong),
        "by_kind": {kind: _refusal_scores(asked, wrong) for kind, asked in sorted(kinds[False].items())},
        "wrongly_refused": {
            kind: {"questions": len(asked), "refused": _count_refused(asked)}
            for kind, asked in sorted(kinds[True].items())
        },
    }


def _refusal_scores(asked: Sequence[QuestionOutcome], wrong: int) -> MetricsDict:
    refused = _count_refused(asked)
    return {
        "questions": len(asked),
        "refused": refused,
        "corrected": sum(outcome.given.answered and outcome.right(outcome.given) for outcome in asked),
        "precision": refused / (refused + wrong) if refused + wrong else None,
        "recall": refused / len(asked) if asked else None,
    }


def _count_refused(asked: Sequence[QuestionOutcome]) -> int:
    return sum(not outcome.given.answered for outcome in asked)


def _citation_metrics(answerable: Sequence[QuestionOutcome], outcomes: Sequence[QuestionOutcome]) -> MetricsDict:
    answered = [outcome.given for outcome in answerable if outcome.given.answered]
    verbatim = [is_it for outcome in outcomes for is_it in outcome.given.verbatim]
    return {
        "citations": len(verbatim),
        "hold_evidence": compute_mean([holds for marks in answered for holds in marks.holding]),
        "evidence_covered": compute_mean([marks.covered for marks in answered]),
        "verbatim": compute_mean(verbatim),
    }


def _latency_metrics(outcomes: Sequence[QuestionOutcome]) -> MetricsDict:
    stages: dict[str, list[float]] = defaultdict(list)
    for outcome in outcomes:
        trace = outcome.given.reply.trace
        parts = {"embed": trace.retrieval.embed_ms, "search": trace.retrieval.search_ms, **trace.timings}
        for stage, milliseconds in parts.items():
            stages[stage].append(milliseconds)
    return {
        "all": _latency_percentiles([outcome.milliseconds for outcome in outcomes]),
        "by_stage": {stage: _latency_percentiles(taken) for stage, taken in stages.items()},
    }


def _latency_percentiles(taken: Sequence[float]) -> MetricsDict:
    return {"p50": compute_percentile(taken, 0.5), "p95": compute_percentile(taken, 0.95)}


METRIC_PATHS: dict[str, tuple[str, ...]] = {
    **{f"recall@{depth}": ("retrieval", "by_question", f"recall@{depth}") for depth in RECALL_DEPTHS},
    "mrr": ("retrieval", "by_question", "mrr"),
    **{f"evidence_recall@{depth}": ("retrieval", "by_evidence", f"recall@{depth}") for depth in RECALL_DEPTHS},
    "evidence_mrr": ("retrieval", "by_evidence", "mrr"),
    **{
        name: ("answers", name)
        for name in ("answered", "evidence_found", "token_f1", "must_contain", "correct_and_cited", "precision")
    },
    "refusal_precision": ("refusals", "precision"),
    "refusal_recall": ("refusals", "recall"),
    **{name: ("citations", name) for name in ("hold_evidence", "evidence_covered", "verbatim")},
    "ece": ("calibration", "ece"),
    "p50_ms": ("latency_ms", "all", "p50"),
    "p95_ms": ("latency_ms", "all", "p95"),
}
"""The names of the figures that a bar can be set for, and where each stands among the figures."""
LOWER_IS_BETTER = {"ece", "p50_ms", "p95_ms"}
"""Figures of which less is better."""
REFUSED_KIND_PREFIX = "refused."
"""Before the name of a kind of unanswerable question: the share of them that is refused."""


class MetricRequirement(NamedTuple):
    """What a figure must reach, or may not exceed."""

    name: str
    value: float

    def missed(self, measured: MetricsDict) -> str | None:
        """By how much the figure misses the bar, in words, or nothing where it does not."""
        found = _get_metric(self.name, measured)
        if found is None:
            return f"{self.name} has no value here: no question of the set speaks for it."
        short = found - self.value if self.name in LOWER_IS_BETTER else self.value - found
        side = "over" if self.name in LOWER_IS_BETTER else "under"
        return f"{self.name} is {found:.4g}, {short:.4g} {side} the bar of {self.value:.4g}." if short > 0 else None


def parse_requirements(given: Sequence[str], kinds: Iterable[str]) -> list[MetricRequirement]:
    """The bars that texts like `recall@5=0.8` set, for a question set with these kinds of unanswerable questions."""
    known = [*METRIC_PATHS, *(REFUSED_KIND_PREFIX + kind for kind in sorted(set(kinds)))]
    found = []
    for text in given:
        name, _, value = text.rpartition("=")
        if name.strip() not in known:
            raise ConfigError(f"A bar is NAME=VALUE, and NAME is one of: {', '.join(known)}.")
        try:
            number = float(value)
        except ValueError:
            number = float("nan")
        if not isfinite(number) or number < 0:
            raise ConfigError(f"The bar for {name.strip()} must be a number, 0 or more.")
        found.append(MetricRequirement(name.strip(), number))
    return found


def _get_metric(name: str, measured: MetricsDict) -> float | None:
    if name.startswith(REFUSED_KIND_PREFIX):
        path: tuple[str, ...] = ("refusals", "by_kind", name.removeprefix(REFUSED_KIND_PREFIX), "recall")
    else:
        path = METRIC_PATHS[name]
    value = measured
    for step in path:
        value = value[step]
    return None if value is None else float(str(value))


def build_evaluation_report(
    pipeline: Pipeline, outcomes: Sequence[QuestionOutcome], held: ActiveOperatingPoint
) -> MetricsDict:
    """All that JSON, tables and page are made of."""
    manifest = pipeline.index.manifest
    return {
        "bookbound": bookbound.__version__,
        "index": {
            "title": manifest.title,
            "generation": manifest.generation,
            "embedder": manifest.embedder,
            "chunks": manifest.chunks,
        },
        "operating_point": {**asdict(held.point), "origin": held.origin},
        **compute_metrics(outcomes),
    }
