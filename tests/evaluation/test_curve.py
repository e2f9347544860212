from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.evaluation.outcomes import answered, item, refused

from bookbound.evaluation.runner import QuestionOutcome
from bookbound.evaluation.threshold_curve import (
    MIN_COVERAGE,
    THRESHOLD_GRID,
    build_threshold_curve,
    choose_threshold,
    compute_calibration_bins,
    compute_calibration_error,
    evaluate_threshold,
    find_most_precise_threshold,
)

UNANSWERABLE = item(answerable=False, kind="near_miss")
outcomes = st.lists(
    st.one_of(
        st.builds(answered, st.floats(0, 1), right=st.booleans()),
        st.builds(answered, st.floats(0, 1), asked=st.just(UNANSWERABLE), right=st.just(False)),
        st.builds(refused, st.floats(0, 1), answerable=st.booleans(), right=st.booleans()),
    ),
    max_size=30,
)


def test_a_row_says_what_is_answered_how_well_and_what_is_refused() -> None:
    row = evaluate_threshold(
        0.5,
        [
            answered(0.9),
            answered(0.5, right=False),
            answered(0.49),
            refused(0.7, answerable=True, kind="fact", right=True),
            answered(0.8, asked=UNANSWERABLE, right=False),
            answered(0.2, asked=UNANSWERABLE, right=False),
            refused(0.1, kind="off_topic"),
        ],
    )
    assert (row.given, row.coverage, row.correct, row.precision) == (4, 0.75, 0.5, 0.5)
    assert row.refused == {"near_miss": 0.5, "off_topic": 1.0}
    assert row.refused_all == pytest.approx(2 / 3)


def test_a_question_without_a_relevant_passage_is_refused_at_every_threshold() -> None:
    silent = refused(1.0, kind="off_topic")
    never = QuestionOutcome(silent.item, (), silent.given, silent.given, 1.0)
    assert [row.given for row in build_threshold_curve([never])] == [0] * len(THRESHOLD_GRID)


@given(outcomes)
def test_a_higher_threshold_answers_no_more_and_refuses_no_less(asked: list[QuestionOutcome]) -> None:
    rows = build_threshold_curve(asked)
    for lower, higher in pairwise(rows):
        assert (lower.coverage or 0) >= (higher.coverage or 0)
        assert (lower.refused_all or 0) <= (higher.refused_all or 0)


@given(outcomes, st.floats(0, 1))
def test_the_lowest_threshold_that_reaches_the_precision_is_chosen(
    asked: list[QuestionOutcome], precision: float
) -> None:
    rows = build_threshold_curve(asked)
    choice = choose_threshold(rows, precision)
    reaching = [
        row.answered
        for row in rows
        if row.precision is not None and row.precision >= precision and (row.coverage or 0) >= MIN_COVERAGE
    ]
    assert (choice.answered if choice else None) == min(reaching, default=None)


def test_a_precision_that_rests_on_hardly_any_answer_is_not_taken() -> None:
    lucky = [answered(0.95), *(answered(0.5, right=False) for _ in range(19))]
    assert choose_threshold(build_threshold_curve(lucky), 0.9) is None
    assert find_most_precise_threshold(build_threshold_curve(lucky)) == evaluate_threshold(0.0, lucky)


def test_the_best_is_the_most_precise_and_of_equals_the_one_that_answers_most() -> None:
    found = find_most_precise_threshold(
        build_threshold_curve([answered(0.8), answered(0.6), answered(0.4, right=False)])
    )
    assert found is not None
    assert (found.answered, found.precision) == (0.41, 1.0)


def test_where_nothing_is_ever_answered_nothing_is_best() -> None:
    assert find_most_precise_threshold(build_threshold_curve([])) is None
    assert choose_threshold(build_threshold_curve([]), 0.0) is None


def test_promise_and_outcome_are_compared_tenth_by_tenth() -> None:
    bins = compute_calibration_bins(
        [answered(0.92), answered(0.98, right=False), answered(1.0), answered(0.25, right=False)]
    )
    assert [each.answers for each in bins] == [1, 3]
    assert bins[1].probability == pytest.approx(0.9667, abs=1e-4)
    assert bins[1].correct == pytest.approx(2 / 3)
    assert compute_calibration_error(bins) == pytest.approx((0.25 + 3 * 0.3) / 4)
    assert compute_calibration_error([]) is None


def test_a_promise_that_is_too_low_is_as_far_off_as_one_that_is_too_high() -> None:
    assert compute_calibration_error(
        compute_calibration_bins([answered(0.25), answered(0.75, right=False)])
    ) == pytest.approx(0.75)


def test_a_row_is_plain_and_rounded() -> None:
    plain = evaluate_threshold(0.5, [answered(0.9), answered(0.9, right=False), answered(0.9)]).plain()
    assert plain == {
        "answered": 0.5,
        "given": 3,
        "coverage": 1.0,
        "correct": 0.6667,
        "precision": 0.6667,
        "refused": {},
        "refused_all": None,
    }
