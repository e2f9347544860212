from __future__ import annotations

from collections.abc import Callable

import pytest

from bookbound.answering.decision import rank_passages
from bookbound.domain.chunk import Passage
from bookbound.domain.judgement import AnswerSpan, Assessment, PassageAssessment
from bookbound.domain.question import SELECTION_CHUNK_ID, AnswerScope, Question, Retrieval

Make = Callable[..., Passage]


def names(question: Question, passages: list[Passage], examination: Assessment) -> list[str]:
    retrieval, read = rank_passages(question, Retrieval(tuple(passages), embed_ms=1.5), examination)
    before = {p.chunk.id: reading for p, reading in zip(passages, examination.readings, strict=True)}
    assert list(read.readings) == [before[passage.chunk.id] for passage in retrieval.passages]
    assert (retrieval.embed_ms, read.probability) == (1.5, examination.probability)
    return [passage.chunk.id for passage in retrieval.passages]


def test_what_was_read_as_answering_comes_first_and_as_many_as_asked_for(passage: Make) -> None:
    passages = [passage("a", "a"), passage("b", "b"), passage("c", "c")]
    examination = Assessment(0.9, (PassageAssessment(0.1), PassageAssessment(0.3), PassageAssessment(0.8)))
    assert names(Question("?", k=2), passages, examination) == ["c", "b"]
    assert names(Question("?", k=1), passages, examination) == ["c"]
    assert names(Question("?", k=20), passages, examination) == ["c", "b", "a"]


@pytest.mark.parametrize("sure", [0.0, 0.8, 1.0])
def test_readings_that_agree_keep_the_order_of_the_search(passage: Make, sure: float) -> None:
    passages = [passage(name, name) for name in "abcdef"]
    assert names(Question("?", k=6), passages, Assessment(0.9, (PassageAssessment(sure),) * 6)) == list("abcdef")


def test_a_selection_stays_in_front_and_counts_beside_the_passages_asked_for(passage: Make) -> None:
    passages = [passage("s", SELECTION_CHUNK_ID, 1.0), passage("a", "a"), passage("b", "b")]
    examination = Assessment(0.9, (PassageAssessment(0.0), PassageAssessment(0.1), PassageAssessment(0.8)))
    question = Question("?", "s", AnswerScope.SELECTION_THEN_BOOK, k=1)
    assert names(question, passages, examination) == [SELECTION_CHUNK_ID, "b"]


def test_each_part_of_a_question_has_its_best_passage_before_any_second_best(passage: Make) -> None:
    passages = [passage("a", "a"), passage("b", "b"), passage("c", "c")]
    readings = (
        PassageAssessment(0.9, (AnswerSpan(0, 1, 0.9, 0),)),
        PassageAssessment(0.8, (AnswerSpan(0, 1, 0.8, 0), AnswerSpan(0, 1, 0.1, 1))),
        PassageAssessment(0.5, (AnswerSpan(0, 1, 0.4, 1),)),
    )
    assert names(Question("?", k=2), passages, Assessment(0.9, readings, (0.9, 0.4))) == ["a", "c"]
    assert names(Question("?", k=2), passages, Assessment(0.9, readings)) == ["a", "b"]


def test_nothing_found_stays_nothing() -> None:
    assert names(Question("?"), [], Assessment(0.0, ())) == []
