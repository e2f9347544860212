"""The curve of an operating point: what each threshold would answer and how well, and which one to take."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from bookbound.measure.outcome import Outcome
from bookbound.measure.statistic import rounded, share

GRID = tuple(round(i / 100, 2) for i in range(101))
BINS = 10
LEAST_COVERAGE = 0.1
"""The share of the answerable questions that an operating point answers at least."""


@dataclass(frozen=True, slots=True)
class Row:
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
        return rounded(asdict(self))


def at(threshold: float, outcomes: Sequence[Outcome]) -> Row:
    """The row of one threshold."""
    given = [_is_given(outcome, threshold) for outcome in outcomes]
    right = [is_given and outcome.right(outcome.dared) for is_given, outcome in zip(given, outcomes, strict=True)]
    kinds: dict[str, list[bool]] = defaultdict(list)
    for is_given, outcome in zip(given, outcomes, strict=True):
        if not outcome.item.answerable:
            kinds[outcome.item.kind].append(not is_given)
    answerable = [(g, r) for g, r, outcome in zip(given, right, outcomes, strict=True) if outcome.item.answerable]
    return Row(
        answered=threshold,
        given=sum(given),
        coverage=share([is_given for is_given, _ in answerable]),
        correct=share([is_right for _, is_right in answerable]),
        precision=share([is_right for is_given, is_right in zip(given, right, strict=True) if is_given]),
        refused={kind: share(refused) or 0.0 for kind, refused in sorted(kinds.items())},
        refused_all=share([each for refused in kinds.values() for each in refused]),
    )


def curve(outcomes: Sequence[Outcome]) -> list[Row]:
    """The rows of all thresholds, the lowest first."""
    return [at(threshold, outcomes) for threshold in GRID]


def choose(rows: Sequence[Row], precision: float) -> Row | None:
    """The lowest threshold that reaches a precision, which is the one that answers most; none where none does."""
    return next((row for row in _serious(rows) if (row.precision or 0.0) >= precision), None)


def best(rows: Sequence[Row]) -> Row | None:
    """The most precise of all thresholds; of equal ones the one that answers most."""
    return max(_serious(rows), key=lambda row: row.precision or 0.0, default=None)


def _serious(rows: Sequence[Row]) -> list[Row]:
    """The thresholds that answer enough for their precision to be more than the luck of a few answers."""
    return [row for row in rows if row.precision is not None and (row.coverage or 0.0) >= LEAST_COVERAGE]


@dataclass(frozen=True, slots=True)
class Bin:
    """Answers whose probabilities lie in one tenth: what was promised on average, and what was kept."""

    answers: int
    probability: float
    correct: float


def reliability(outcomes: Sequence[Outcome]) -> list[Bin]:
    """The tenths of probability that hold answers, the lowest first."""
    tenths: dict[int, list[Outcome]] = defaultdict(list)
    for outcome in outcomes:
        if outcome.dared.answered:
            tenths[min(BINS - 1, int(outcome.probability * BINS))].append(outcome)
    return [
        Bin(
            len(held),
            sum(outcome.probability for outcome in held) / len(held),
            sum(outcome.right(outcome.dared) for outcome in held) / len(held),
        )
        for _, held in sorted(tenths.items())
    ]


def calibration_error(bins: Sequence[Bin]) -> float | None:
    """How far promise and outcome lie apart, on average over the answers (the expected calibration error)."""
    answers = sum(each.answers for each in bins)
    return sum(each.answers * abs(each.probability - each.correct) for each in bins) / answers if answers else None


def _is_given(outcome: Outcome, threshold: float) -> bool:
    return outcome.dared.answered and outcome.probability >= threshold
