from __future__ import annotations

import pytest
from tests.evaluation.outcomes import answered, item, refused

from bookbound.domain.errors import ConfigError
from bookbound.evaluation.metrics import METRIC_PATHS, MetricRequirement, compute_metrics, parse_requirements

MEASURED = compute_metrics([answered(0.9), answered(0.8, right=False, rank=None), refused(0.1, kind="off_topic")])


def test_a_bar_that_is_reached_is_not_missed() -> None:
    for text in ("recall@5=0.5", "precision=0.5", "refused.off_topic=1", "p95_ms=20", "verbatim=1.0"):
        (bar,) = parse_requirements([text], ["off_topic"])
        assert bar.missed(MEASURED) is None


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("recall@5=0.8", "recall@5 is 0.5, 0.3 under the bar of 0.8."),
        ("p50_ms=4", "p50_ms is 10, 6 over the bar of 4."),
        ("refusal_precision=1.5", "refusal_precision is 1, 0.5 under the bar of 1.5."),
    ],
)
def test_a_missed_bar_says_which_and_by_how_much(text: str, told: str) -> None:
    (bar,) = parse_requirements([text], ["off_topic"])
    assert bar.missed(MEASURED) == told


@pytest.mark.parametrize("name", METRIC_PATHS)
def test_every_name_leads_to_a_figure(name: str) -> None:
    missed = MetricRequirement(name, 0.0 if name in ("ece", "p50_ms", "p95_ms") else 2.0).missed(MEASURED)
    assert missed is not None
    assert "no value" not in missed


def test_a_bar_for_what_no_question_speaks_for_is_missed() -> None:
    unanswerable = compute_metrics([answered(0.9, asked=item(answerable=False, kind="near_miss"))])
    assert "no question" in (MetricRequirement("recall@5", 0.0).missed(unanswerable) or "")


@pytest.mark.parametrize("text", ["recall@7=0.8", "0.8", "recall@5", "refused.nonsense=1", "=1", ""])
def test_an_unknown_name_is_answered_with_the_known_ones(text: str) -> None:
    with pytest.raises(ConfigError) as told:
        parse_requirements([text], ["near_miss"])
    for known in ("recall@5", "token_f1", "refused.near_miss", "p95_ms"):
        assert known in str(told.value)


@pytest.mark.parametrize("value", ["", "high", "nan", "inf", "-1"])
def test_a_value_is_a_number(value: str) -> None:
    with pytest.raises(ConfigError, match="The bar for mrr must be a number"):
        parse_requirements([f"mrr={value}"], [])
