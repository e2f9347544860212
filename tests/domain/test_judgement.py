"""Judgements in words."""

from __future__ import annotations

from dataclasses import replace

import pytest

from bookbound.domain.judgement import Judgement, RefusalReason, ReplyStatus, describe_ranges

JUDGEMENT = Judgement(0.3, (), (), "Partial", answer_threshold=0.4, unsure_threshold=0.1)


@pytest.mark.parametrize(
    ("probability", "status", "words"),
    [
        (0.93, ReplyStatus.ANSWERED, "probability 0.93, answered from 0.40"),
        (0.4, ReplyStatus.ANSWERED, "probability 0.40, answered from 0.40"),
        (0.3999, ReplyStatus.UNSURE, "probability 0.39, unsure from 0.10 to 0.40"),
        (0.1, ReplyStatus.UNSURE, "probability 0.10, unsure from 0.10 to 0.40"),
        (0.0999, ReplyStatus.REFUSED, "probability 0.09, refused below 0.10"),
    ],
)
def test_the_probability_is_shown_with_the_range_that_led_to_the_reply(
    probability: float, status: ReplyStatus, words: str
) -> None:
    assert replace(JUDGEMENT, probability=probability).explain(status) == words


def test_a_reply_that_the_probability_does_not_explain_has_another_reason() -> None:
    refused = replace(JUDGEMENT, probability=0.8, refusal=RefusalReason.LOW_RELEVANCE)
    words = "probability 0.80, answered from 0.40, but refused for another reason"
    assert refused.explain(ReplyStatus.REFUSED) == words


def test_one_threshold_leaves_no_range_for_unsure_replies() -> None:
    assert describe_ranges(0.42, 0.42) == {ReplyStatus.ANSWERED: "from 0.42", ReplyStatus.REFUSED: "below 0.42"}
    assert list(describe_ranges(0.423, 0.42)) == list(ReplyStatus)
