from __future__ import annotations

from collections.abc import Callable

import pytest

from bookbound.answering.reading.answerability import (
    NEUTRAL_SIMILARITY,
    compute_question_features,
    compute_search_ranks,
    weigh_by_rank,
)
from bookbound.answering.reading.cross_encoder import CrossEncoder, logistic_probability
from bookbound.domain.chunk import Passage
from bookbound.domain.judgement import AnswerSpan, PassageAssessment
from bookbound.domain.question import SELECTION_CHUNK_ID

Make = Callable[..., Passage]


def test_the_figures_are_those_of_the_passage_read_as_best(passage: Make) -> None:
    passages = [passage("a", "a", 0.7), passage("b", "b", 0.5)]
    figures = compute_question_features(
        "How fast is it?", passages, [PassageAssessment(0.2), PassageAssessment(0.5, (AnswerSpan(0, 1, 0.4),))]
    )
    assert figures["best"] == 0.0
    assert figures["score"] == 0.5
    assert figures["sharpness"] == pytest.approx(0.8)
    assert figures["rank"] > 0


def test_a_selections_score_is_given_and_so_has_no_say(passage: Make) -> None:
    figures = compute_question_features(
        "How fast is it?", [passage("a", SELECTION_CHUNK_ID, 1.0)], [PassageAssessment(0.9)]
    )
    assert figures["score"] == NEUTRAL_SIMILARITY


@pytest.mark.parametrize("sure", [0.0, 1.0])
def test_a_reading_that_is_quite_sure_has_figures(passage: Make, sure: float) -> None:
    figures = compute_question_features("How?", [passage("a")], [PassageAssessment(sure)])
    assert 0 <= logistic_probability({"best": 1.0, "constant": 0.0}, figures) <= 1


def test_a_model_weighs_the_features_it_names_and_no_others() -> None:
    assert logistic_probability({"constant": 0.0}, {"best": 5.0}) == 0.5
    assert logistic_probability({"best": 1.0, "constant": -5.0}, {"best": 5.0, "score": 3.0}) == 0.5
    with pytest.raises(KeyError):
        logistic_probability({"besst": 1.0, "constant": 0.0}, {"best": 5.0})


PLACE = {"odds": 1.0, "place": -1.0, "constant": 0.0}


def test_the_first_place_adds_nothing_to_a_reading() -> None:
    reading = PassageAssessment(0.6, (AnswerSpan(0, 3, 0.45), AnswerSpan(4, 6, 0.1)))
    weighed = weigh_by_rank(PLACE, reading, 0)
    assert weighed.probability == pytest.approx(0.6)
    assert [span.probability for span in weighed.spans] == pytest.approx([0.45, 0.1])


def test_what_the_search_had_far_down_must_be_read_as_far_likelier() -> None:
    first, unsure, sure = (
        weigh_by_rank(PLACE, PassageAssessment(p), at).probability for p, at in ((0.5, 0), (0.9, 19), (0.999, 19))
    )
    assert unsure < first < sure


def test_weighed_words_keep_their_share_of_a_reading() -> None:
    weighed = weigh_by_rank(PLACE, PassageAssessment(0.8, (AnswerSpan(0, 3, 0.8), AnswerSpan(4, 6, 0.2))), 5)
    assert weighed.probability < 0.8
    assert [span.probability / weighed.probability for span in weighed.spans] == pytest.approx([1.0, 0.25])


def test_a_selection_is_taken_as_it_was_read_and_moves_no_place(passage: Make) -> None:
    reading = PassageAssessment(0.6, (AnswerSpan(0, 3, 0.45),))
    assert weigh_by_rank(PLACE, reading, None) is reading
    selected = [passage("s", SELECTION_CHUNK_ID), passage("a", "a"), passage("b", "b")]
    assert compute_search_ranks(selected) == [None, 0, 1]
    readings = [PassageAssessment(0.1), PassageAssessment(0.2), PassageAssessment(0.9)]
    figures = compute_question_features("How fast is it?", selected, readings)
    assert figures["rank"] == compute_question_features("How fast is it?", selected[1:], readings[1:])["rank"]


def test_the_shipped_weights_let_a_likelier_reading_and_an_earlier_place_count_for_more() -> None:
    weights = CrossEncoder().constants.place
    assert (
        weigh_by_rank(weights, PassageAssessment(0.9), 3).probability
        > weigh_by_rank(weights, PassageAssessment(0.5), 3).probability
    )
    assert (
        weigh_by_rank(weights, PassageAssessment(0.9), 3).probability
        > weigh_by_rank(weights, PassageAssessment(0.9), 4).probability
    )


def test_what_was_not_read_stays_so_at_any_place() -> None:
    assert weigh_by_rank(PLACE, PassageAssessment(0.0), 3) == PassageAssessment(0.0)
