"""Metrics of a question set, and values that they must reach."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.evaluation.outcomes import make_answered, make_item, make_refused, make_unsure

from bookbound.domain.errors import ConfigError
from bookbound.domain.reply import UNSURE_MESSAGE
from bookbound.evaluation import COUNT_COLUMNS, compute_percentile
from bookbound.evaluation.html_report import build_metric_tables
from bookbound.evaluation.metrics import (
    LOWER_IS_BETTER,
    METRIC_PATHS,
    METRICS_BY_TYPE,
    MetricRequirement,
    compute_metrics,
    parse_requirements,
)
from bookbound.evaluation.runner import QuestionOutcome

MIXED = [
    make_answered(0.9, rank=0),
    make_answered(0.8, rank=4, right=False),
    make_refused(0.3, answerable=True, kind="fact"),
    make_answered(0.7, rank=5),
    make_refused(0.1, kind="off_topic"),
    make_answered(0.6, item=make_item(answerable=False, kind="off_topic"), right=False),
    make_refused(0.2, kind="near_miss"),
]


def test_retrieval_is_measured_by_question_and_by_quote() -> None:
    first = make_answered(0.9)
    two_quotes = QuestionOutcome(first.item, (None, 4), first.result, first.result, 1.0)
    retrieval = compute_metrics([first, two_quotes])["retrieval"]
    assert retrieval["by_question"] == {"recall@1": 0.5, "recall@5": 1.0, "recall@20": 1.0, "mrr": 0.6}
    assert retrieval["by_evidence"] == {"recall@1": 0.3333, "recall@5": 0.6667, "recall@20": 0.6667, "mrr": 0.4}


def test_answers_are_measured_over_answerable_and_answered_questions() -> None:
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


def test_each_reply_is_counted_once_as_answered_unsure_or_refused() -> None:
    outcomes = [
        make_answered(0.9),
        make_unsure(0.6),
        make_unsure(0.5, shows_evidence=False),
        make_unsure(0.4, answerable=False, kind="near_miss"),
        make_refused(0.1, kind="off_topic"),
        make_answered(0.6, item=make_item(answerable=False, kind="off_topic"), right=False),
        make_refused(0.1, answerable=True, kind="fact"),
    ]
    replies = compute_metrics(outcomes)["replies"]
    counts = {name: [replies[name][column] for column in COUNT_COLUMNS] for name in ("all", "answerable")}
    assert COUNT_COLUMNS == ("asked", "answered", "unsure", "refused")
    assert counts == {"all": [7, 2, 3, 2], "answerable": [4, 1, 2, 1]}
    assert replies["unanswerable"] == {
        "asked": 3,
        "answered": 1,
        "unsure": 1,
        "refused": 1,
        "shares": {"answered": 0.3333, "unsure": 0.3333, "refused": 0.3333, "not_answered": 0.6667},
    }
    assert [list(replies["by_type"]), replies["by_type"]["off_topic"]["shares"]["not_answered"]] == [
        ["near_miss", "off_topic"],
        0.5,
    ]
    assert (replies["closest_with_evidence"], replies["refusal_precision"]) == (0.5, 0.5)


def test_an_unsure_reply_is_no_answer_and_right_only_if_the_question_is_unanswerable() -> None:
    metrics = compute_metrics([make_answered(0.9), make_unsure(0.6), make_unsure(0.4, answerable=False)])
    assert (metrics["answers"]["answered"], metrics["answers"]["given"]) == (0.5, 1)
    rows = metrics["rows"]
    assert [row["status"] for row in rows] == ["answered", "unsure", "unsure"]
    assert [row["verdict"] for row in rows] == ["right", "unsure", "right"]
    assert rows[1]["got"] == f"{UNSURE_MESSAGE}\nA trot moves diagonal legs together."


def test_a_corrected_premise_is_an_answer_that_is_right() -> None:
    premise = make_item(answerable=False, kind="false_premise")
    outcomes = [
        make_answered(0.9, item=premise, right=True),
        make_answered(0.8, item=premise, right=False),
        make_refused(0.2, kind="false_premise"),
    ]
    metrics = compute_metrics(outcomes)
    assert metrics["replies"]["by_type"]["false_premise"]["shares"]["not_answered"] == 0.3333
    assert (metrics["replies"]["corrected"], metrics["answers"]["precision"]) == (1, 0.5)


def test_citations_are_counted_by_evidence_and_verbatim_text() -> None:
    assert compute_metrics(MIXED)["citations"] == {
        "citations": 4,
        "hold_evidence": 0.6667,
        "evidence_covered": 0.6667,
        "verbatim": 1.0,
    }


def test_latency_is_measured_in_total_and_by_stage() -> None:
    latency = compute_metrics(MIXED)["latency_ms"]
    assert latency["all"] == {"p50": 10.0, "p95": 20.0}
    assert latency["by_stage"]["judge"] == {"p50": 1.0, "p95": 1.0}
    assert {"embed", "search", "retrieve", "answer"} <= set(latency["by_stage"])


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
    assert [(row["status"], row["reason"]) for row in rows][1:3] == [("answered", None), ("refused", "low_relevance")]
    assert rows[3]["ranks"] == [6]
    assert rows[4]["expected"] == "A refusal"


def test_the_expected_answer_is_that_of_the_set_or_its_evidence() -> None:
    rows = compute_metrics([make_answered(0.9, item=make_item(answer="A gait.")), make_answered(0.9)])["rows"]
    assert [row["expected"] for row in rows] == ["A gait.", "A trot moves"]


@pytest.mark.parametrize("outcomes", [MIXED, MIXED[:1], MIXED[2:3], MIXED[4:5], []])
def test_metrics_of_any_set_are_json_of_the_same_shape(
    outcomes: list[QuestionOutcome],
) -> None:
    metrics = compute_metrics(outcomes)
    assert list(metrics) == list(compute_metrics(MIXED))
    assert json.loads(json.dumps(metrics, allow_nan=False)) == metrics
    for table in build_metric_tables(metrics):
        assert all(len(row) == len(table.columns) for row in table.rows)


@given(st.lists(st.floats(0, 1e6), min_size=1), st.floats(0, 1))
def test_a_percentile_is_between_least_and_greatest(values: list[float], share: float) -> None:
    found = compute_percentile(values, share)
    assert found is not None
    assert min(values) <= found * (1 + 1e-9) + 1e-9
    assert found <= max(values) * (1 + 1e-9) + 1e-9
    assert (compute_percentile(values, 0), compute_percentile(values, 1)) == (min(values), max(values))


SMALL = compute_metrics(
    [make_answered(0.9), make_answered(0.8, right=False, rank=None), make_refused(0.1, kind="off_topic")]
)


def test_a_requirement_that_is_met_has_no_violation() -> None:
    for text in ("recall@5=0.5", "precision=0.5", "refused.off_topic=1", "p95_ms=20", "verbatim=1.0"):
        (requirement,) = parse_requirements([text], ["off_topic"])
        assert requirement.describe_violation(SMALL) is None


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("recall@5=0.8", "recall@5 is 0.5, 0.3 below the required 0.8."),
        ("p50_ms=4", "p50_ms is 10, 6 above the required 4."),
        ("refusal_precision=1.5", "refusal_precision is 1, 0.5 below the required 1.5."),
    ],
)
def test_a_violation_says_how_far_the_metric_is_off(text: str, message: str) -> None:
    (requirement,) = parse_requirements([text], ["off_topic"])
    assert requirement.describe_violation(SMALL) == message


@pytest.mark.parametrize("name", METRIC_PATHS)
def test_every_metric_name_has_a_value(name: str) -> None:
    violation = MetricRequirement(name, -1.0 if name in LOWER_IS_BETTER else 2.0).describe_violation(SMALL)
    assert violation is not None
    assert "no value" not in violation


def test_a_requirement_without_questions_for_it_is_violated() -> None:
    unanswerable = compute_metrics([make_answered(0.9, item=make_item(answerable=False, kind="near_miss"))])
    assert "no question" in (MetricRequirement("recall@5", 0.0).describe_violation(unanswerable) or "")


@pytest.mark.parametrize("text", ["recall@7=0.8", "0.8", "recall@5", "refused.nonsense=1", "=1", ""])
def test_an_unknown_metric_is_an_error_that_lists_the_known_ones(text: str) -> None:
    with pytest.raises(ConfigError) as error:
        parse_requirements([text], ["near_miss"])
    for known in ("recall@5", "token_f1", "refused.near_miss", "not_answered.near_miss", "p95_ms"):
        assert known in str(error.value)


@pytest.mark.parametrize("value", ["", "high", "nan", "inf", "-1"])
def test_a_required_value_must_be_a_number(value: str) -> None:
    with pytest.raises(ConfigError, match="The required value of mrr must be a number"):
        parse_requirements([f"mrr={value}"], [])


def test_an_unsure_reply_is_not_answered_but_not_refused_either() -> None:
    metrics = compute_metrics([make_unsure(0.4, answerable=False, kind="near_miss")])
    met, missed = parse_requirements(["not_answered.near_miss=1", "refused.near_miss=1"], ["near_miss"])
    assert met.describe_violation(metrics) is None
    assert missed.describe_violation(metrics) == "refused.near_miss is 0, 1 below the required 1."


def test_every_metric_may_be_required_of_a_type_that_is_only_listed_once() -> None:
    texts = [f"{name}.near_miss=0.8" for name in METRICS_BY_TYPE]
    assert [each.name for each in parse_requirements(texts, iter(["near_miss"]))] == [
        f"{name}.near_miss" for name in METRICS_BY_TYPE
    ]
