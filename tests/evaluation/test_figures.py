from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.evaluation.outcomes import answered, item, refused

from bookbound.evaluation.html_report import build_metric_tables
from bookbound.evaluation.metrics import compute_metrics
from bookbound.evaluation.runner import QuestionOutcome
from bookbound.evaluation.threshold_curve import compute_percentile, evaluate_threshold

MIXED = [
    answered(0.9, rank=0),
    answered(0.8, rank=4, right=False),
    refused(0.3, answerable=True, kind="fact"),
    answered(0.7, rank=5),
    refused(0.1, kind="off_topic"),
    answered(0.6, asked=item(answerable=False, kind="off_topic"), right=False),
    refused(0.2, kind="near_miss"),
]


def test_retrieval_is_measured_by_question_and_by_piece_of_evidence() -> None:
    first = answered(0.9)
    several = QuestionOutcome(first.item, (None, 4), first.given, first.given, 1.0)
    found = compute_metrics([first, several])["retrieval"]
    assert found["by_question"] == {"recall@1": 0.5, "recall@5": 1.0, "recall@20": 1.0, "mrr": 0.6}
    assert found["by_evidence"] == {"recall@1": 0.3333, "recall@5": 0.6667, "recall@20": 0.6667, "mrr": 0.4}


def test_answers_are_measured_over_the_answerable_and_over_those_answered() -> None:
    answers = compute_metrics(MIXED)["answers"]
    assert (answers["given"], answers["answered"], answers["correct_and_cited"]) == (4, 0.75, 0.5)
    assert answers["precision"] == 0.5
    assert answers["token_f1"] == 0.625
    assert answers["where_answered"] == {
        "evidence_found": 0.6667,
        "token_f1": 0.8333,
        "must_contain": 0.6667,
        "correct_and_cited": 0.6667,
    }


def test_refusals_have_precision_and_recall_over_all_and_by_kind() -> None:
    refusals = compute_metrics(MIXED)["refusals"]
    assert (refusals["questions"], refusals["refused"]) == (3, 2)
    assert (refusals["precision"], refusals["recall"]) == (0.6667, 0.6667)
    assert refusals["by_kind"] == {
        "near_miss": {"questions": 1, "refused": 1, "corrected": 0, "precision": 0.5, "recall": 1.0},
        "off_topic": {"questions": 2, "refused": 1, "corrected": 0, "precision": 0.5, "recall": 0.5},
    }
    assert refusals["wrongly_refused"] == {"fact": {"questions": 4, "refused": 1}}


def test_refused_means_refused_in_the_figures_and_on_the_curve_and_a_correction_counts_beside_it() -> None:
    premise = item(answerable=False, kind="false_premise")
    asked = [
        answered(0.9, asked=premise, right=True),
        answered(0.8, asked=premise, right=False),
        refused(0.2, kind="false_premise"),
        refused(0.1, kind="near_miss"),
        refused(0.3, kind="fact", answerable=True),
    ]
    refusals, row = compute_metrics(asked)["refusals"], evaluate_threshold(0.5, asked).plain()
    assert {kind: of["recall"] for kind, of in refusals["by_kind"].items()} == row["refused"]
    assert (refusals["recall"], refusals["precision"]) == (row["refused_all"], 0.6667) == (0.5, 0.6667)
    assert refusals["by_kind"]["false_premise"] == {
        "questions": 3,
        "refused": 1,
        "corrected": 1,
        "precision": 0.5,
        "recall": 0.3333,
    }
    assert refusals["corrected"] == 1


def test_citations_count_those_that_hold_evidence_and_those_that_are_verbatim() -> None:
    assert compute_metrics(MIXED)["citations"] == {
        "citations": 4,
        "hold_evidence": 0.6667,
        "evidence_covered": 0.6667,
        "verbatim": 1.0,
    }


def test_time_is_told_over_all_and_by_stage() -> None:
    taken = compute_metrics(MIXED)["latency_ms"]
    assert taken["all"] == {"p50": 10.0, "p95": 20.0}
    assert taken["by_stage"]["judge"] == {"p50": 1.0, "p95": 1.0}
    assert {"embed", "search", "retrieve", "answer"} <= set(taken["by_stage"])


def test_each_question_has_a_verdict() -> None:
    rows = compute_metrics(MIXED)["rows"]
    assert [row["verdict"] for row in rows] == [
        "right",
        "other evidence",
        "wrongly refused",
        "right",
        "right",
        "should be refused",
        "right",
    ]
    assert [row["status"] for row in rows][1:3] == ["answered", "low_relevance"]
    assert rows[3]["ranks"] == [6]
    assert rows[4]["expected"] == "A refusal"


def test_what_was_expected_is_the_answer_of_the_set_or_else_its_evidence() -> None:
    told = compute_metrics([answered(0.9, asked=item(answer="A gait.")), answered(0.9)])["rows"]
    assert [row["expected"] for row in told] == ["A gait.", "A trot moves"]


@pytest.mark.parametrize("outcomes", [MIXED, MIXED[:1], MIXED[2:3], MIXED[4:5], []])
def test_whatever_the_set_the_figures_are_json_of_the_same_shape_and_can_be_shown(
    outcomes: list[QuestionOutcome],
) -> None:
    measured = compute_metrics(outcomes)
    assert list(measured) == list(compute_metrics(MIXED))
    assert json.loads(json.dumps(measured, allow_nan=False)) == measured
    for table in build_metric_tables(measured):
        assert all(len(row) == len(table.columns) for row in table.rows)


@given(st.lists(st.floats(0, 1e6), min_size=1), st.floats(0, 1))
def test_a_percentile_lies_between_the_ends(values: list[float], part: float) -> None:
    found = compute_percentile(values, part)
    assert found is not None
    assert min(values) <= found * (1 + 1e-9) + 1e-9
    assert found <= max(values) * (1 + 1e-9) + 1e-9
    assert (compute_percentile(values, 0), compute_percentile(values, 1)) == (min(values), max(values))
