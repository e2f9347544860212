from __future__ import annotations

from collections.abc import Callable

import pytest

from bookbound.book import Passage
from bookbound.dialogue import SELECTION_ID, Question, Retrieval, Scope
from bookbound.finding import Examination, Reading, Span
from bookbound.judge.order import ordered

Make = Callable[..., Passage]


def names(question: Question, passages: list[Passage], examination: Examination) -> list[str]:
    retrieval, read = ordered(question, Retrieval(tuple(passages), embed_ms=1.5), examination)
    before = {p.chunk.id: reading for p, reading in zip(passages, examination.readings, strict=True)}
    assert list(read.readings) == [before[passage.chunk.id] for passage in retrieval.passages]
    assert (retrieval.embed_ms, read.probability) == (1.5, examination.probability)
    return [passage.chunk.id for passage in retrieval.passages]


def test_what_was_read_as_answering_comes_first_and_as_many_as_asked_for(passage: Make) -> None:
    passages = [passage("a", "a"), passage("b", "b"), passage("c", "c")]
    examination = Examination(0.9, (Reading(0.1), Reading(0.3), Reading(0.8)))
    assert names(Question("?", k=2), passages, examination) == ["c", "b"]
    assert names(Question("?", k=1), passages, examination) == ["c"]
    assert names(Question("?", k=20), passages, examination) == ["c", "b", "a"]


@pytest.mark.parametrize("sure", [0.0, 0.8, 1.0])
def test_readings_that_agree_keep_the_order_of_the_search(passage: Make, sure: float) -> None:
    passages = [passage(name, name) for name in "abcdef"]
    assert names(Question("?", k=6), passages, Examination(0.9, (Reading(sure),) * 6)) == list("abcdef")


def test_a_selection_stays_in_front_and_counts_beside_the_passages_asked_for(passage: Make) -> None:
    passages = [passage("s", SELECTION_ID, 1.0), passage("a", "a"), passage("b", "b")]
    examination = Examination(0.9, (Reading(0.0), Reading(0.1), Reading(0.8)))
    question = Question("?", "s", Scope.SELECTION_THEN_BOOK, k=1)
    assert names(question, passages, examination) == [SELECTION_ID, "b"]


def test_each_part_of_a_question_has_its_best_passage_before_any_second_best(passage: Make) -> None:
    passages = [passage("a", "a"), passage("b", "b"), passage("c", "c")]
    readings = (
        Reading(0.9, (Span(0, 1, 0.9, 0),)),
        Reading(0.8, (Span(0, 1, 0.8, 0), Span(0, 1, 0.1, 1))),
        Reading(0.5, (Span(0, 1, 0.4, 1),)),
    )
    assert names(Question("?", k=2), passages, Examination(0.9, readings, (0.9, 0.4))) == ["a", "c"]
    assert names(Question("?", k=2), passages, Examination(0.9, readings)) == ["a", "b"]


def test_nothing_found_stays_nothing() -> None:
    assert names(Question("?"), [], Examination(0.0, ())) == []
