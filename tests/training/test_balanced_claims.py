"""The last stage of the strong reader's head reads true and false claims equally often, as the verifier reads them."""

from __future__ import annotations

import random

import pytest
from training.balanced_claims import SHORTENED_WEIGHT, SOURCE_WEIGHTS, balance, shorten_premises
from training.batches import Row

PREMISE = (
    "The robot has two legs. Each leg has six joints. The battery holds 1.2 kWh. "
    "A full charge takes 90 minutes. The cameras see in the dark."
)


def claim(source: str, supported: bool, text: str = "Charging takes 90 minutes.") -> Row:
    return {"source": source, "claim": text, "premise": PREMISE, "supported": supported}


def test_a_true_claim_of_a_source_is_drawn_as_often_as_a_false_one() -> None:
    rows = [claim("book_claims", True), *[claim("book_claims", False)] * 3, *[claim("snli", True)] * 2]
    rows += [claim("snli", False)]
    drawn = balance(rows)
    assert drawn.sum() == pytest.approx(1)
    assert drawn[0] == pytest.approx(drawn[1:4].sum())
    assert drawn[4:6].sum() == pytest.approx(drawn[6])
    assert drawn[0] / drawn[6] == pytest.approx(SOURCE_WEIGHTS["book_claims"] / SOURCE_WEIGHTS["snli"])


def test_edited_claims_are_the_false_ones_of_the_altered() -> None:
    drawn = balance([claim("altered", True), claim("altered", False), *[claim("edited", False)] * 3])
    assert drawn[0] == pytest.approx(drawn[1:].sum())


def test_a_claim_with_a_shortened_premise_is_drawn_more_often() -> None:
    whole = claim("contrasting", True)
    drawn = balance([whole, whole | {"shortened": True}, claim("contrasting", False)])
    assert drawn[1] == pytest.approx(SHORTENED_WEIGHT * drawn[0])


def test_a_shortened_premise_has_the_units_that_support_the_claim_and_their_neighbours() -> None:
    (short,) = shorten_premises([claim("contrasting", True, "A charge takes 90 minutes.")], random.Random(1))
    assert short["premise"].split("\n") == [
        "The battery holds 1.2 kWh.",
        "A full charge takes 90 minutes.",
        "The cameras see in the dark.",
    ]
    assert short["supported"]


def test_only_claims_about_books_get_a_shortened_premise() -> None:
    assert not [*shorten_premises([claim("snli", True)], random.Random(1))]
