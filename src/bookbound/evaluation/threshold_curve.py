"""Computes what each answer threshold would answer, refuse and get right, and chooses one."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, TypeVar

from bookbound.evaluation.runner import QuestionOutcome

T = TypeVar("T")
DECIMAL_PLACES = 4


def compute_mean(values: Sequence[bool | float]) -> float | None:
    """The mean, of which there is none where there are no values."""
    return sum(values) / len(values) if values else None


def compute_percentile(values: Sequence[float], part: float) -> float | None:
    """The value that this part of the values does not exceed, between two of them where it falls there."""
    if not values:
        return None
    kept = sorted(values)
    at = part * (len(kept) - 1)
    low = kept[int(at)]
    return low + (kept[min(int(at) + 1, len(kept) - 1)] - low) * (at - int(at))


def round_numbers(value: T) -> T:
    """A plain value with every number in it cut to a few places."""
    if isinstance(value, dict):
        return type(value)((name, round_numbers(each)) for name, each in value.items())
    if isinstance(value, list):
        return type(value)(map(round_numbers, value))
    return type(value)(round(value, DECIMAL_PLACES)) if isinstance(value, float) else value


THRESHOLD_GRID = tuple(round(i / 100, 2) for i in range(101))
CALIBRATION_BIN_COUNT = 10
MIN_COVERAGE = 0.1
"""The share of the answerable questions that an operating point answers at least."""


@dataclass(frozen=True, slots=True)
class CurvePoint:
    """What comes of questions when only those from a probability on are answered.

    `coverage` is the share of the answerable questions that are answered, `correct` the share answered right, and
    `precision` the share of right ones of the `given` answers. `refused` is by kind of unanswerable question.
    """

    answered: float
    given: int
    coverage: float | None
    correct: float | None
    precision: float | None
    refused: dict[str, float]
    refused_all: float | None

    def plain(self) -> dict[str, Any]:
        """The row for JSON."""
        return round_numbers(asdict(self))


def evaluate_threshold(threshold: float, outcomes: Sequence[QuestionOutcome]) -> CurvePoint:
    """The row of one threshold."""
    given = [_is_answer_given(outcome, threshold) for outcome in outcomes]
    right = [is_given and outcome.right(outcome.dared) for is_given, outcome in zip(given, outcomes, strict=True)]
    kinds: dict[str, list[bool]] = defaultdict(list)
    for is_given, outcome in zip(given, outcomes, strict=True):
        if not outcome.item.answerable:
            kinds[outcome.item.kind].append(not is_given)
    answerable = [(g, r) for g, r, outcome in zip(given, right, outcomes, strict=True) if outcome.item.answerable]
    return CurvePoint(
        answered=threshold,
        given=sum(given),
        coverage=compute_mean([is_given for is_given, _ in answerable]),
        correct=compute_mean([is_right for _, is_right in answerable]),
        precision=compute_mean([is_right for is_given, is_right in zip(given, right, strict=True) if is_given]),
        refused={kind: compute_mean(refused) or 0.0 for kind, refused in sorted(kinds.items())},
        refused_all=compute_mean([each for refused in kinds.values() for each in refused]),
    )


def build_threshold_curve(outcomes: Sequence[QuestionOutcome]) -> list[CurvePoint]:
    """The rows of all thresholds, the lowest first."""
    return [evaluate_threshold(threshold, outcomes) for threshold in THRESHOLD_GRID]


def choose_threshold(rows: Sequence[CurvePoint], precision: float) -> CurvePoint | None:
    """The lowest threshold that reaches a precision, which is the one that answers most; none where none does."""
    return next((row for row in _with_enough_coverage(rows) if (row.precision or 0.0) >= precision), None)


def find_most_precise_threshold(rows: Sequence[CurvePoint]) -> CurvePoint | None:
    """The most precise of all thresholds; of equal ones the one that answers most."""
    return max(_with_enough_coverage(rows), key=lambda row: row.precision or 0.0, default=None)


def _with_enough_coverage(rows: Sequence[CurvePoint]) -> list[CurvePoint]:
    """The thresholds that answer enough for their precision to be more than the luck of a few answers."""
    return [row for row in rows if row.precision is not None and (row.coverage or 0.0) >= MIN_COVERAGE]


@dataclass(frozen=True, slots=True)
class CalibrationBin:
    """Answers whose probabilities lie in one tenth: what was promised on average, and what was kept."""

    answers: int
    probability: float
    correct: float


def compute_calibration_bins(outcomes: Sequence[QuestionOutcome]) -> list[CalibrationBin]:
    """The tenths of probability that hold answers, the lowest first."""
    tenths: dict[int, list[QuestionOutcome]] = defaultdict(list)
    for outcome in outcomes:
        if outcome.dared.answered:
            tenths[min(CALIBRATION_BIN_COUNT - 1, int(outcome.probability * CALIBRATION_BIN_COUNT))].append(outcome)
    return [
        CalibrationBin(
            len(held),
            sum(outcome.probability for outcome in held) / len(held),
            sum(outcome.right(outcome.dared) for outcome in held) / len(held),
        )
        for _, held in sorted(tenths.items())
    ]


def compute_calibration_error(bins: Sequence[CalibrationBin]) -> float | None:
    """How far promise and outcome lie apart, on average over the answers (the expected calibration error)."""
    answers = sum(each.answers for each in bins)
    return sum(each.answers * abs(each.probability - each.correct) for each in bins) / answers if answers else None


def _is_answer_given(outcome: QuestionOutcome, threshold: float) -> bool:
    return outcome.dared.answered and outcome.probability >= threshold
