"""Computes what each answer threshold would answer, refuse and get right, and chooses one."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

from bookbound.answering.deciding.operating_point import OperatingPoint
from bookbound.domain.judgement import ReplyStatus
from bookbound.evaluation import compute_mean, count_replies, round_numbers
from bookbound.evaluation.runner import QuestionOutcome

THRESHOLD_GRID = tuple(round(i / 100, 2) for i in range(101))
CALIBRATION_BIN_COUNT = 10
MIN_THRESHOLD = 0.1
"""The least threshold that is chosen: a small set may have no question that shows what a lower one lets through."""
MIN_COVERAGE = 0.1
"""The least share of answerable questions that an operating point answers; below it, precision is luck."""
MAX_COVERAGE_LOSS = 0.1
"""The share of answerable questions that a new operating point may leave unanswered without being a clear loss."""


@dataclass(frozen=True, slots=True)
class CurvePoint:
    """The results if only questions with at least the threshold's probability are answered.

    `coverage` is the share of answerable questions with an answer, `correct` the share with a right one, `precision`
    the share of right answers, and `refused` the share of refusals by kind of unanswerable question.
    """

    threshold: float
    answer_count: int
    coverage: float | None
    correct: float | None
    precision: float | None
    refused: dict[str, float]
    refused_all: float | None

    def to_json(self) -> dict[str, Any]:
        row = asdict(self)
        return round_numbers({"answered": row.pop("threshold"), "given": row.pop("answer_count"), **row})


def evaluate_threshold(threshold: float, outcomes: Sequence[QuestionOutcome]) -> CurvePoint:
    """Computes one point of the curve."""
    answerable: list[tuple[bool, bool]] = []
    right_answers: list[bool] = []
    refused: dict[str, list[bool]] = defaultdict(list)
    for outcome in outcomes:
        result = outcome.result_without_threshold
        is_answered = result.is_answered and outcome.probability >= threshold
        is_right = is_answered and outcome.is_right(result)
        if is_answered:
            right_answers.append(is_right)
        if outcome.item.answerable:
            answerable.append((is_answered, is_right))
        else:
            refused[outcome.item.kind].append(not is_answered)
    return CurvePoint(
        threshold=threshold,
        answer_count=len(right_answers),
        coverage=compute_mean([is_answered for is_answered, _ in answerable]),
        correct=compute_mean([is_right for _, is_right in answerable]),
        precision=compute_mean(right_answers),
        refused={kind: compute_mean(each) or 0.0 for kind, each in sorted(refused.items())},
        refused_all=compute_mean([each for kind in refused.values() for each in kind]),
    )


class PointResult(NamedTuple):
    """The replies to answerable and unanswerable questions at an operating point, and how many answers are right."""

    point: OperatingPoint
    answerable: dict[str, int]
    unanswerable: dict[str, int]
    right_answerable: int
    right_answers: int

    @property
    def coverage(self) -> float:
        return self.answerable["answered"] / max(1, self.answerable["asked"])

    @property
    def precision(self) -> float | None:
        given = self.answerable["answered"] + self.unanswerable["answered"]
        return self.right_answers / given if given else None

    def loses_coverage(self, in_use: PointResult) -> bool:
        """Whether this point answers clearly fewer questions than the one in use."""
        return in_use.coverage - self.coverage > MAX_COVERAGE_LOSS


def evaluate_point(point: OperatingPoint, outcomes: Sequence[QuestionOutcome]) -> PointResult:
    """Counts the replies at an operating point."""
    statuses = [(outcome, _find_status(outcome, point)) for outcome in outcomes]
    right = [
        outcome.item.answerable
        for outcome, status in statuses
        if status is ReplyStatus.ANSWERED and outcome.is_right(outcome.result_without_threshold)
    ]
    return PointResult(
        point,
        count_replies(status for outcome, status in statuses if outcome.item.answerable),
        count_replies(status for outcome, status in statuses if not outcome.item.answerable),
        sum(right),
        len(right),
    )


def _find_status(outcome: QuestionOutcome, point: OperatingPoint) -> ReplyStatus:
    if not outcome.result_without_threshold.is_answered or outcome.probability < point.unsure_threshold:
        return ReplyStatus.REFUSED
    return ReplyStatus.ANSWERED if outcome.probability >= point.answer_threshold else ReplyStatus.UNSURE


def build_threshold_curve(outcomes: Sequence[QuestionOutcome]) -> list[CurvePoint]:
    """The points of all thresholds, lowest first."""
    return [evaluate_threshold(threshold, outcomes) for threshold in THRESHOLD_GRID]


def choose_threshold(curve: Sequence[CurvePoint], precision: float) -> CurvePoint | None:
    """The lowest threshold that reaches a precision and so answers most."""
    return next((point for point in _list_eligible(curve) if (point.precision or 0.0) >= precision), None)


def find_most_precise_threshold(curve: Sequence[CurvePoint]) -> CurvePoint | None:
    """The most precise threshold; of equal ones the lowest."""
    return max(_list_eligible(curve), key=lambda point: point.precision or 0.0, default=None)


def _list_eligible(curve: Sequence[CurvePoint]) -> list[CurvePoint]:
    """The points that may be chosen."""
    allowed = (point for point in curve if point.precision is not None and point.threshold >= MIN_THRESHOLD)
    return [point for point in allowed if (point.coverage or 0.0) >= MIN_COVERAGE]


@dataclass(frozen=True, slots=True)
class CalibrationBin:
    """The answers in one tenth of probability: their number, mean probability and share of right ones."""

    answers: int
    probability: float
    correct: float


def compute_calibration_bins(outcomes: Sequence[QuestionOutcome]) -> list[CalibrationBin]:
    """The tenths of probability with answers, lowest first."""
    tenths: dict[int, list[QuestionOutcome]] = defaultdict(list)
    for outcome in outcomes:
        if outcome.result_without_threshold.is_answered:
            tenths[min(CALIBRATION_BIN_COUNT - 1, int(outcome.probability * CALIBRATION_BIN_COUNT))].append(outcome)
    bins = []
    for _, members in sorted(tenths.items()):
        right = sum(outcome.is_right(outcome.result_without_threshold) for outcome in members)
        probability = sum(outcome.probability for outcome in members)
        bins.append(CalibrationBin(len(members), probability / len(members), right / len(members)))
    return bins


def compute_calibration_error(bins: Sequence[CalibrationBin]) -> float | None:
    """The expected calibration error: how far probability and right answers differ on average."""
    answers = sum(each.answers for each in bins)
    return sum(each.answers * abs(each.probability - each.correct) for each in bins) / answers if answers else None
