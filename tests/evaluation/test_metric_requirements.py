"""Values that metrics must reach."""

from __future__ import annotations

import pytest
from tests.evaluation.outcomes import make_answered, make_item, make_refused, make_unsure

from bookbound.domain.errors import ConfigError
from bookbound.evaluation.metric_requirements import (
    LOWER_IS_BETTER,
    METRIC_PATHS,
    METRICS_BY_TYPE,
    MetricRequirement,
    parse_requirements,
)
from bookbound.evaluation.metrics import compute_metrics

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
