"""The thresholds of the verifier come from natural drafts: few false sentences are supported, most true ones shown."""

from __future__ import annotations

import numpy as np
import pytest

from bookbound.domain.judgement import Claim
from lab.train.fit_support_threshold import FEATURES, ReadClaim, describe, describe_scores, fit, score

MAX_SUPPORTED, MIN_SHOWN = 0.1, 0.9
DRAFTS = "natural drafts"


def build_claims(source: str, *logits: float, is_true: bool) -> list[ReadClaim]:
    """Claims that the network reads so; nothing can be counted in them."""
    counted = dict.fromkeys(FEATURES, 0.0)
    return [
        ReadClaim(source, is_true, Claim("Torque."), (), counted | {"whole": logit, "context": logit})
        for logit in logits
    ]


NATURAL = [
    *build_claims(DRAFTS, *(number / 10 for number in range(-30, 10)), is_true=False),
    *build_claims(DRAFTS, *(number / 10 for number in range(0, 40)), is_true=True),
]


def count_above(claims: list[ReadClaim], probability: float, *, is_true: bool) -> int:
    """How many claims the fit on all of them puts above a probability."""
    found = fit(NATURAL, MAX_SUPPORTED, MIN_SHOWN)
    chosen = [each for each in claims if each.is_true is is_true]
    return int((1 / (1 + np.exp(-score(chosen, found.weights))) > probability).sum())


def test_the_given_share_of_the_false_natural_sentences_is_supported() -> None:
    assert count_above(NATURAL, 0.5, is_true=False) == 4


def test_the_given_share_of_the_true_natural_sentences_is_shown() -> None:
    plausible = fit(NATURAL, MAX_SUPPORTED, MIN_SHOWN).plausible
    assert count_above(NATURAL, plausible, is_true=True) == 36


def test_claims_of_other_sources_do_not_move_the_thresholds() -> None:
    others = [*build_claims("claims", *[2.0] * 40, is_true=False), *build_claims("claims", *[6.0] * 40, is_true=True)]
    found = fit(NATURAL + others, MAX_SUPPORTED, MIN_SHOWN)
    false = [each for each in NATURAL if not each.is_true]
    assert (score(false, found.weights) > 0).sum() == 4


def test_too_few_false_sentences_are_an_error() -> None:
    with pytest.raises(SystemExit, match="only 40 false natural sentences"):
        fit(NATURAL, 0.01, MIN_SHOWN)


def test_claims_are_described_by_their_source_at_both_thresholds() -> None:
    found = fit(NATURAL, MAX_SUPPORTED, MIN_SHOWN)
    every, drafts = describe(NATURAL, score(NATURAL, found.weights), found.plausible)
    assert every.removeprefix("all natural") == drafts.removeprefix(DRAFTS)
    assert "90.0% shown; 10.0% of 40 false ones are supported" in every


def test_scores_are_described_at_shares_of_the_false_ones() -> None:
    true, false = np.linspace(0, 10, 101), np.linspace(-10, 0, 101)
    text = describe_scores(true, false, -5.0)
    assert "0.0% of 101 false ones are supported and 49.5% shown" in text
    assert "100.0% if 5%" in text
