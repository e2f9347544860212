"""Thresholds, and how well probabilities are calibrated."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.evaluation.outcomes import make_answered, make_item, make_refused

from bookbound.answering.deciding.operating_point import OperatingPoint
from bookbound.evaluation.runner import QuestionOutcome
from bookbound.evaluation.threshold_curve import (
    MAX_COVERAGE_LOSS,
    MIN_COVERAGE,
    MIN_THRESHOLD,
    THRESHOLD_GRID,
    build_threshold_curve,
    choose_threshold,
    compute_calibration_bins,
    compute_calibration_error,
    evaluate_point,
    evaluate_threshold,
    find_most_precise_threshold,
)

UNANSWERABLE = make_item(answerable=False, kind="near_miss")
outcome_lists = st.lists(
    st.one_of(
        st.builds(make_answered, st.floats(0, 1), right=st.booleans()),
        st.builds(make_answered, st.floats(0, 1), item=st.just(UNANSWERABLE), right=st.just(False)),
        st.builds(make_refused, st.floats(0, 1), answerable=st.booleans(), right=st.booleans()),
    ),
    max_size=30,
)


def test_a_point_of_the_curve_counts_answers_right_ones_and_refusals() -> None:
    row = evaluate_threshold(
        0.5,
        [
            make_answered(0.9),
            make_answered(0.5, right=False),
            make_answered(0.49),
            make_refused(0.7, answerable=True, kind="fact", right=True),
            make_answered(0.8, item=UNANSWERABLE, right=False),
            make_answered(0.2, item=UNANSWERABLE, right=False),
            make_refused(0.1, kind="off_topic"),
        ],
    )
    assert (row.answer_count, row.coverage, row.correct, row.precision) == (4, 0.75, 0.5, 0.5)
    assert row.refused == {"near_miss": 0.5, "off_topic": 1.0}
    assert row.refused_all == pytest.approx(2 / 3)


def test_a_question_without_a_relevant_passage_is_refused_at_every_threshold() -> None:
    silent = make_refused(1.0, kind="off_topic")
    never = QuestionOutcome(silent.item, (), silent.result, silent.result, 1.0)
    assert [row.answer_count for row in build_threshold_curve([never])] == [0] * len(THRESHOLD_GRID)


@given(outcome_lists)
def test_a_higher_threshold_answers_no_more_and_refuses_no_less(outcomes: list[QuestionOutcome]) -> None:
    rows = build_threshold_curve(outcomes)
    for lower, higher in pairwise(rows):
        assert (lower.coverage or 0) >= (higher.coverage or 0)
        assert (lower.refused_all or 0) <= (higher.refused_all or 0)


@given(outcome_lists, st.floats(0, 1))
def test_the_lowest_threshold_that_reaches_the_precision_is_chosen(
    outcomes: list[QuestionOutcome], precision: float
) -> None:
    rows = build_threshold_curve(outcomes)
    choice = choose_threshold(rows, precision)
    reaching = [
        row.threshold
        for row in rows
        if row.threshold >= MIN_THRESHOLD
        and row.precision is not None
        and row.precision >= precision
        and (row.coverage or 0) >= MIN_COVERAGE
    ]
    assert (choice.threshold if choice else None) == min(reaching, default=None)


def test_a_threshold_with_hardly_any_answers_is_not_chosen() -> None:
    lucky = [make_answered(0.95), *(make_answered(0.5, right=False) for _ in range(19))]
    assert choose_threshold(build_threshold_curve(lucky), 0.9) is None
    assert find_most_precise_threshold(build_threshold_curve(lucky)) == evaluate_threshold(MIN_THRESHOLD, lucky)


def test_of_equally_precise_thresholds_the_lowest_is_best() -> None:
    found = find_most_precise_threshold(
        build_threshold_curve([make_answered(0.8), make_answered(0.6), make_answered(0.4, right=False)])
    )
    assert found is not None
    assert (found.threshold, found.precision) == (0.41, 1.0)


def test_no_threshold_is_chosen_at_which_anything_is_answered() -> None:
    found = choose_threshold(build_threshold_curve([make_answered(0.05), make_answered(0.9)]), 0.5)
    assert found is not None
    assert found.threshold == MIN_THRESHOLD


def test_without_answers_no_threshold_is_chosen() -> None:
    assert find_most_precise_threshold(build_threshold_curve([])) is None
    assert choose_threshold(build_threshold_curve([]), 0.0) is None


def test_probability_and_right_answers_are_compared_in_tenths() -> None:
    bins = compute_calibration_bins(
        [make_answered(0.92), make_answered(0.98, right=False), make_answered(1.0), make_answered(0.25, right=False)]
    )
    assert [each.answers for each in bins] == [1, 3]
    assert bins[1].probability == pytest.approx(0.9667, abs=1e-4)
    assert bins[1].correct == pytest.approx(2 / 3)
    assert compute_calibration_error(bins) == pytest.approx((0.25 + 3 * 0.3) / 4)
    assert compute_calibration_error([]) is None


def test_too_low_and_too_high_probabilities_count_alike() -> None:
    assert compute_calibration_error(
        compute_calibration_bins([make_answered(0.25), make_answered(0.75, right=False)])
    ) == pytest.approx(0.75)


def test_a_point_of_the_curve_is_rounded_json() -> None:
    row = evaluate_threshold(0.5, [make_answered(0.9), make_answered(0.9, right=False), make_answered(0.9)]).to_json()
    assert row == {
        "answered": 0.5,
        "given": 3,
        "coverage": 1.0,
        "correct": 0.6667,
        "precision": 0.6667,
        "refused": {},
        "refused_all": None,
    }


def test_replies_at_any_operating_point_are_counted_like_those_of_an_evaluation() -> None:
    outcomes = [
        make_answered(0.9),
        make_answered(0.5, right=False),
        make_answered(0.3),
        make_refused(0.1, answerable=True, kind="fact", right=True),
        make_answered(0.8, item=UNANSWERABLE, right=False),
        make_refused(0.2, kind="off_topic"),
    ]
    found = evaluate_point(OperatingPoint(0.5, 0.1, 0.2), outcomes)
    assert list(found.answerable.items()) == [("asked", 4), ("answered", 2), ("unsure", 1), ("refused", 1)]
    assert list(found.unanswerable.items()) == [("asked", 2), ("answered", 1), ("unsure", 1), ("refused", 0)]
    assert (found.right_answerable, found.coverage) == (1, 0.5)
    assert found.precision == pytest.approx(1 / 3)


def test_only_a_clear_loss_of_answers_counts_as_one() -> None:
    outcomes = [make_answered(number / 100) for number in range(100)]
    in_use, slightly_less, clearly_less = (
        evaluate_point(OperatingPoint(threshold, 0.1), outcomes) for threshold in (0.2, 0.29, 0.32)
    )
    assert in_use.coverage - slightly_less.coverage < MAX_COVERAGE_LOSS
    assert not slightly_less.loses_coverage(in_use)
    assert clearly_less.loses_coverage(in_use)
    assert not in_use.loses_coverage(clearly_less)
