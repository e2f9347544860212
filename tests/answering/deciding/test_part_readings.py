"""The readings of the parts of a question as one reading of the whole question."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from bookbound.answering.deciding.part_readings import PARTIAL_ANSWER_WEIGHT, merge_part_readings
from bookbound.domain.chunk import Passage
from bookbound.domain.judgement import AnswerSpan, Assessment, PassageAssessment
from bookbound.domain.question import Retrieval

Make = Callable[..., Passage]
UNREAD = PassageAssessment(0.0)


def assess_parts(passage: Make, *chances: float) -> Assessment:
    found = Retrieval((passage("a", "a"),))
    return merge_part_readings([found] * len(chances), [Assessment(chance, (UNREAD,)) for chance in chances])[1]


def test_a_question_is_as_probable_as_the_geometric_mean_of_its_least_and_most_probable_part(passage: Make) -> None:
    merged = assess_parts(passage, 0.9, 0.85, 0.4)
    assert merged.probability == pytest.approx(0.6)
    assert merged.parts == (0.9, 0.85, 0.4)


def test_a_question_with_one_answered_part_is_worth_a_share_of_that_part(passage: Make) -> None:
    assert assess_parts(passage, 0.9, 0.01).probability == pytest.approx(0.9 * PARTIAL_ANSWER_WEIGHT)
    assert assess_parts(passage, 0.9, 0.01, 0.02).probability == pytest.approx(0.9 * PARTIAL_ANSWER_WEIGHT)


def test_a_single_part_keeps_its_passages_and_its_reading(passage: Make) -> None:
    retrieval = Retrieval((passage("a", "a"), passage("b", "b")))
    assessment = Assessment(0.4, (PassageAssessment(0.4, (AnswerSpan(0, 1, 0.4),)), UNREAD))
    assert merge_part_readings([retrieval], [assessment]) == (retrieval, assessment)


def test_each_passage_occurs_once_with_its_best_score_and_probability(passage: Make) -> None:
    first = Retrieval((passage("a", "a", 0.5), passage("b", "b", 0.4)))
    second = Retrieval((passage("b", "b", 0.8), passage("a", "a", 0.3)))
    one = Assessment(0.9, (PassageAssessment(0.7), PassageAssessment(0.6)))
    other = Assessment(0.8, (PassageAssessment(0.2), PassageAssessment(0.1)))
    retrieval, merged = merge_part_readings([first, second], [one, other])
    assert [(each.chunk.id, each.score) for each in retrieval.passages] == [("a", 0.5), ("b", 0.8)]
    assert [reading.probability for reading in merged.readings] == [0.7, 0.6]


def test_words_keep_the_part_that_they_answer_and_the_most_probable_come_first(passage: Make) -> None:
    found = Retrieval((passage("Walk on.", "a"),))
    one = Assessment(0.9, (PassageAssessment(0.5, (AnswerSpan(0, 4, 0.5), AnswerSpan(5, 7, 0.2))),))
    other = Assessment(0.8, (PassageAssessment(0.3, (AnswerSpan(5, 7, 0.3),)),))
    (reading,) = merge_part_readings([found, found], [one, other])[1].readings
    assert reading.spans == (AnswerSpan(0, 4, 0.5, 0), AnswerSpan(5, 7, 0.3, 1), AnswerSpan(5, 7, 0.2, 0))


def test_the_place_of_the_selection_is_kept(passage: Make) -> None:
    place = passage("a").chunk.place
    found = Retrieval((passage("a", "a"),), place)
    assert merge_part_readings([found, found], [Assessment(0.1, (UNREAD,))] * 2)[0].selection == place
