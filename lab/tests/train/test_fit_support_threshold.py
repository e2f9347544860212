"""The threshold of the verifier is fitted so that few false drafts are shown, whatever the other sentences are."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from lab.train.fit_support_threshold import FEATURES, describe_scores, fit

SHARE = 0.1


def build_rows(source: str, *logits: float | None, true: bool) -> list[dict[str, Any]]:
    """Sentences with these readings; one without a reading was rejected by an exact check."""
    return [
        {
            "source": source,
            "true": true,
            "text": "",
            "features": None if logit is None else dict.fromkeys(FEATURES, logit / 3),
        }
        for logit in logits
    ]


DRAFTS = [
    *build_rows("drafts", *(number / 10 for number in range(-30, 10)), true=False),
    *build_rows("drafts", *(number / 10 for number in range(0, 40)), true=True),
]


def count_false_shown(rows: list[dict[str, Any]], weights: dict[str, float]) -> int:
    read = [row["features"] for row in rows if not row["true"] and row["features"]]
    return sum(sum(weights[name] * features[name] for name in FEATURES) + weights["constant"] > 0 for features in read)


def test_the_share_of_false_drafts_is_shown() -> None:
    assert count_false_shown(DRAFTS, fit(DRAFTS, SHARE)) == 4


def test_false_sentences_of_other_sources_do_not_move_the_threshold() -> None:
    others = [*build_rows("claims", *[2.0] * 40, true=False), *build_rows("claims", *[6.0] * 40, true=True)]
    assert count_false_shown(DRAFTS, fit(DRAFTS + others, SHARE)) == 4


def test_a_draft_that_an_exact_check_rejects_counts_as_not_shown() -> None:
    rejected = build_rows("draft_twins", *[None] * 40, true=False)
    assert count_false_shown(DRAFTS, fit(DRAFTS + rejected, SHARE)) == 8


def test_too_few_false_drafts_are_an_error() -> None:
    with pytest.raises(SystemExit, match="only 40 false drafts"):
        fit(DRAFTS, 0.05)


def test_sentences_are_described_at_the_threshold_and_at_shares_of_the_false_ones() -> None:
    true, false = np.linspace(0, 10, 101), np.linspace(-10, 0, 101)
    text = describe_scores(true, false, 5.0)
    assert "50 of 101 true and 0 of 101 false ones are shown" in text
    assert "100.0% if 1%" in text


def test_sentences_of_one_kind_alone_are_only_counted() -> None:
    assert describe_scores(np.ones(3), np.empty(0), 0.0) == "3 true and 0 false sentences"
