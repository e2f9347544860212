"""Edits make a supported sentence unsupported and leave most of its words."""

from __future__ import annotations

import random

import pytest

from lab.train.edited_claims import (
    OPPOSITES,
    change_only,
    edit_claim,
    exchange_terms,
    negate,
    replace_by_neighbour,
    replace_word,
)

PREMISE = "The sensor runs at 40 Hz on the NodeA board, and the camera at 30 Hz. In ROS a node is not a process."


@pytest.fixture
def rng() -> random.Random:
    return random.Random(1)


def test_an_opposite_takes_the_place_of_a_word(rng: random.Random) -> None:
    assert replace_word(OPPOSITES)("A larger baseline helps.", "", rng) == "A smaller baseline helps."


def test_a_negation_is_added_or_removed(rng: random.Random) -> None:
    assert negate("A node is a process.", PREMISE, rng) == "A node is not a process."
    assert negate("A node is not a process.", PREMISE, rng) == "A node is a process."
    assert negate("It cannot stop.", PREMISE, rng) == "It can stop."


def test_only_is_removed_or_added_where_the_premise_never_says_it(rng: random.Random) -> None:
    assert change_only("It runs only at night.", PREMISE, rng) == "It runs at night."
    assert change_only("It runs at night.", PREMISE, rng) == "It runs only at night."
    assert change_only("It runs at night.", "It runs only at night.", rng) is None


def test_two_numbers_of_a_sentence_are_exchanged(rng: random.Random) -> None:
    claim = "it runs at 40 Hz while that one runs at 30 Hz"
    assert exchange_terms(claim, PREMISE, rng) == "it runs at 30 Hz while that one runs at 40 Hz"


def test_terms_that_stand_side_by_side_in_a_list_are_not_exchanged(rng: random.Random) -> None:
    assert exchange_terms("it allows 30 and 40", PREMISE, rng) is None


def test_a_term_is_replaced_by_another_one_of_the_premise(rng: random.Random) -> None:
    assert replace_by_neighbour("it runs at 40 Hz", PREMISE, rng) == "it runs at 30 Hz"


def test_edits_differ_from_the_claim_and_are_not_in_the_premise(rng: random.Random) -> None:
    claim = "The sensor runs at 40 Hz on the NodeA board."
    for _ in range(20):
        edits = list(edit_claim(claim, PREMISE, rng, 3))
        assert edits
        assert len(edits) == len(set(edits))
        assert all(edited != claim and edited not in PREMISE for edited in edits)


def test_long_claims_are_not_edited(rng: random.Random) -> None:
    assert list(edit_claim("It is larger. " * 40, PREMISE, rng, 2)) == []
