"""The adapter for claims reads true and false claims equally often, twins together, and as the verifier reads them."""

from __future__ import annotations

import random
from collections import Counter

import pytest

from lab.train.balanced_claims import SOURCE_WEIGHTS, ClaimSampler
from lab.train.batches import Row
from lab.train.constants import TWIN_SOURCES
from lab.train.data import add_contexts

PREMISE = (
    "The robot has two legs. Each leg has six joints. The battery holds 1.2 kWh. "
    "A full charge takes 90 minutes. The cameras see in the dark."
)
CONTEXT = ["The battery holds 1.2 kWh.", "A full charge takes 90 minutes.", "The cameras see in the dark."]


def claim(source: str, supported: bool, text: str = "Charging takes 90 minutes.", **more: object) -> Row:
    return {"source": source, "claim": text, "premise": PREMISE, "supported": supported, **more}


def draw(rows: list[Row], count: int = 4000) -> list[list[Row]]:
    sampler = ClaimSampler(rows, random.Random(1))
    return [sampler.draw() for _ in range(count)]


def test_a_true_claim_of_a_source_is_drawn_as_often_as_all_its_false_ones() -> None:
    drawn = Counter(row["supported"] for (row,) in draw([claim("snli", True), *[claim("snli", False)] * 3]))
    assert drawn[True] == pytest.approx(drawn[False], rel=0.1)


def test_a_source_is_drawn_as_often_as_its_weight_says() -> None:
    drawn = Counter(row["source"] for (row,) in draw([claim("book_claims", True), claim("contrasting", True)]))
    expected = SOURCE_WEIGHTS["book_claims"] / SOURCE_WEIGHTS["contrasting"]
    assert drawn["book_claims"] / drawn["contrasting"] == pytest.approx(expected, rel=0.1)


@pytest.mark.parametrize("source", TWIN_SOURCES)
def test_twins_are_drawn_together_with_the_true_one_first(source: str) -> None:
    rows = [
        claim(source, supported, f"{pair} {supported}", pair=pair) for pair in (1, 2) for supported in (False, True)
    ]
    for true, false in draw(rows, 20):
        assert true["pair"] == false["pair"]
        assert (true["supported"], false["supported"]) == (True, False)


@pytest.mark.parametrize("source", ["contrasting", *TWIN_SOURCES])
def test_half_of_the_claims_about_books_are_drawn_with_their_context(source: str) -> None:
    (row,) = add_contexts([claim(source, True, "A charge takes 90 minutes.")])
    premises = Counter(row["premise"] for (row,) in draw([row]))
    assert premises[PREMISE] == pytest.approx(premises["\n".join(CONTEXT)], rel=0.1)


def test_claims_are_drawn_below_the_heading_path_of_their_premise() -> None:
    (row,) = add_contexts([claim("draft_twins", True, "A charge takes 90 minutes.", path="Robots > Power")])
    premises = {row["premise"] for (row,) in draw([row])}
    assert premises == {f"Robots > Power\n{PREMISE}", "\n".join(["Robots > Power", *CONTEXT])}


def test_claims_of_other_sources_have_no_context() -> None:
    assert "context" not in next(add_contexts([claim("snli", True)]))
