from __future__ import annotations

from collections.abc import Callable

import pytest

from bookbound.book import Passage
from bookbound.dialogue import SELECTION_ID
from bookbound.finding import Reading, Span
from bookbound.judge.features import placed, probability, question_features
from bookbound.judge.pointing import NO_OPINION, places
from bookbound.judge.reader import Reader

Make = Callable[..., Passage]


def test_the_figures_are_those_of_the_passage_read_as_best(passage: Make) -> None:
    passages = [passage("a", "a", 0.7), passage("b", "b", 0.5)]
    figures = question_features("How fast is it?", passages, [Reading(0.2), Reading(0.5, (Span(0, 1, 0.4),))])
    assert figures["best"] == 0.0
    assert figures["score"] == 0.5
    assert figures["sharpness"] == pytest.approx(0.8)
    assert figures["rank"] > 0


def test_a_selections_score_is_given_and_so_has_no_say(passage: Make) -> None:
    figures = question_features("How fast is it?", [passage("a", SELECTION_ID, 1.0)], [Reading(0.9)])
    assert figures["score"] == NO_OPINION


@pytest.mark.parametrize("sure", [0.0, 1.0])
def test_a_reading_that_is_quite_sure_has_figures(passage: Make, sure: float) -> None:
    figures = question_features("How?", [passage("a")], [Reading(sure)])
    assert 0 <= probability({"best": 1.0, "constant": 0.0}, figures) <= 1


def test_a_model_weighs_the_features_it_names_and_no_others() -> None:
    assert probability({"constant": 0.0}, {"best": 5.0}) == 0.5
    assert probability({"best": 1.0, "constant": -5.0}, {"best": 5.0, "score": 3.0}) == 0.5
    with pytest.raises(KeyError):
        probability({"besst": 1.0, "constant": 0.0}, {"best": 5.0})


PLACE = {"odds": 1.0, "place": -1.0, "constant": 0.0}


def test_the_first_place_adds_nothing_to_a_reading() -> None:
    reading = Reading(0.6, (Span(0, 3, 0.45), Span(4, 6, 0.1)))
    weighed = placed(PLACE, reading, 0)
    assert weighed.probability == pytest.approx(0.6)
    assert [span.probability for span in weighed.spans] == pytest.approx([0.45, 0.1])


def test_what_the_search_had_far_down_must_be_read_as_far_likelier() -> None:
    first, unsure, sure = (placed(PLACE, Reading(p), at).probability for p, at in ((0.5, 0), (0.9, 19), (0.999, 19)))
    assert unsure < first < sure


def test_weighed_words_keep_their_share_of_a_reading() -> None:
    weighed = placed(PLACE, Reading(0.8, (Span(0, 3, 0.8), Span(4, 6, 0.2))), 5)
    assert weighed.probability < 0.8
    assert [span.probability / weighed.probability for span in weighed.spans] == pytest.approx([1.0, 0.25])


def test_a_selection_is_taken_as_it_was_read_and_moves_no_place(passage: Make) -> None:
    reading = Reading(0.6, (Span(0, 3, 0.45),))
    assert placed(PLACE, reading, None) is reading
    selected = [passage("s", SELECTION_ID), passage("a", "a"), passage("b", "b")]
    assert places(selected) == [None, 0, 1]
    readings = [Reading(0.1), Reading(0.2), Reading(0.9)]
    figures = question_features("How fast is it?", selected, readings)
    assert figures["rank"] == question_features("How fast is it?", selected[1:], readings[1:])["rank"]


def test_the_shipped_weights_let_a_likelier_reading_and_an_earlier_place_count_for_more() -> None:
    weights = Reader().constants.place
    assert placed(weights, Reading(0.9), 3).probability > placed(weights, Reading(0.5), 3).probability
    assert placed(weights, Reading(0.9), 3).probability > placed(weights, Reading(0.9), 4).probability


def test_what_was_not_read_stays_so_at_any_place() -> None:
    assert placed(PLACE, Reading(0.0), 3) == Reading(0.0)
