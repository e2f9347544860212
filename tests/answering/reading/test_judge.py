from __future__ import annotations

from collections.abc import Callable

import pytest

from bookbound.answering.decision import MAX_EVIDENCE, decide
from bookbound.answering.operating_point import OperatingPoint
from bookbound.domain.chunk import Passage
from bookbound.domain.judgement import AnswerSpan, Assessment, Judgement, PassageAssessment, RefusalReason
from bookbound.domain.question import AnswerScope, Question, Retrieval

POINT = OperatingPoint(answered=0.5, relevant=0.4)
Make = Callable[..., Passage]


def judged(
    passages: list[Passage], relevances: list[float], whole: float, question: Question | None = None
) -> Judgement:
    readings = tuple(PassageAssessment(p, (AnswerSpan(0, 4, p),)) for p in relevances)
    retrieval = Retrieval(tuple(passages))
    return decide(question or Question("How?"), retrieval, Assessment(whole, readings), POINT)


def test_nothing_retrieved_is_refused_as_empty() -> None:
    assert judged([], [], 0.9).refusal is RefusalReason.EMPTY_RETRIEVAL


def test_a_question_at_the_operating_point_is_answered(passage: Make) -> None:
    judgement = judged([passage("Walk on.")], [0.4], 0.5)
    assert judgement.refusal is None
    assert judgement.answer_present


def test_a_question_just_below_the_operating_point_is_refused(passage: Make) -> None:
    judgement = judged([passage("Walk on.")], [0.4], 0.499)
    assert judgement.refusal is RefusalReason.INSUFFICIENT_GROUNDING
    assert not judgement.answer_present


def test_a_question_without_a_relevant_passage_is_refused_for_low_relevance(passage: Make) -> None:
    assert judged([passage("Walk on.")], [0.39], 0.9).refusal is RefusalReason.LOW_RELEVANCE


def test_scores_below_the_asked_threshold_are_refused_for_low_relevance(passage: Make) -> None:
    question = Question("How?", threshold=0.61)
    assert judged([passage("Walk on.", score=0.6)], [0.9], 0.9, question).refusal is RefusalReason.LOW_RELEVANCE
    question = Question("How?", threshold=0.6)
    assert judged([passage("Walk on.", score=0.6)], [0.9], 0.9, question).refusal is None


def test_above_the_asked_threshold_what_is_not_answered_lacks_grounding(passage: Make) -> None:
    question = Question("How?", threshold=0.6)
    refusal = judged([passage("Walk on.", score=0.6)], [0.1], 0.1, question).refusal
    assert refusal is RefusalReason.INSUFFICIENT_GROUNDING


def test_a_selection_that_does_not_answer_is_refused_as_such(passage: Make) -> None:
    question = Question("How?", "Walk on.", AnswerScope.SELECTION)
    assert judged([passage("Walk on.")], [0.1], 0.1, question).refusal is RefusalReason.SELECTED_TEXT_MISSING


@pytest.mark.parametrize(
    ("relevances", "whole", "quality"),
    [
        ([0.6, 0.6], 0.9, "Good"),
        ([0.6, 0.59], 0.9, "Partial"),
        ([0.9, 0.3], 0.9, "Partial"),
        ([0.9, 0.9], 0.1, "Partial"),
        ([0.39, 0.1], 0.9, "Poor"),
    ],
)
def test_quality_follows_the_relevant_passages(
    passage: Make, relevances: list[float], whole: float, quality: str
) -> None:
    passages = [passage("Walk on.", name=str(i)) for i in range(len(relevances))]
    assert judged(passages, relevances, whole).quality == quality


def test_evidence_is_verbatim_at_its_offsets_best_first_and_of_relevant_passages_alone(passage: Make) -> None:
    passages = [passage("Walk on.", name="a"), passage("Step back.", name="b"), passage("Rest now.", name="c")]
    judgement = judged(passages, [0.5, 0.8, 0.2], 0.9)
    assert [evidence.chunk_id for evidence in judgement.evidence] == ["b", "a"]
    assert [evidence.text for evidence in judgement.evidence] == ["Step", "Walk"]
    assert (judgement.evidence[0].place.start, judgement.evidence[0].place.end) == (100, 104)
    assert judgement.relevant == ("a", "b")


def in_parts(
    passage: Make,
    whole: float,
    parts: tuple[float, ...],
    spans: tuple[AnswerSpan, ...] = (AnswerSpan(0, 4, 0.9), AnswerSpan(5, 7, 0.8, 1)),
) -> Judgement:
    examination = Assessment(whole, (PassageAssessment(0.9, spans),), parts)
    return decide(Question("Who, and how?"), Retrieval((passage("Walk on."),)), examination, POINT)


def test_a_question_of_which_one_part_is_answered_is_answered_in_part(passage: Make) -> None:
    judgement = in_parts(passage, 0.2, (0.1, 0.7))
    assert (judgement.refusal, judgement.partial, judgement.probability) == (None, True, 0.7)


def test_only_the_words_for_what_is_answered_are_evidence_of_a_part(passage: Make) -> None:
    (evidence,) = in_parts(passage, 0.2, (0.1, 0.7)).evidence
    assert (evidence.text, evidence.part) == ("on", 1)


def test_a_question_whose_parts_are_all_answered_is_answered_whole(passage: Make) -> None:
    judgement = in_parts(passage, 0.2, (0.5, 0.7))
    assert (judgement.refusal, judgement.partial) == (None, False)
    assert [evidence.part for evidence in judgement.evidence] == [0, 1]


def test_a_question_that_only_the_whole_of_it_answers_is_not_partial(passage: Make) -> None:
    judgement = in_parts(passage, 0.6, (0.4, 0.3))
    assert (judgement.refusal, judgement.partial, len(judgement.evidence)) == (None, False, 2)


def test_a_question_without_an_answered_part_is_refused_and_not_partial(passage: Make) -> None:
    judgement = in_parts(passage, 0.4, (0.4, 0.3))
    assert (judgement.refusal, judgement.partial) == (RefusalReason.INSUFFICIENT_GROUNDING, False)
    assert judgement.probability == 0.4


def test_the_best_words_for_each_part_are_among_the_evidence(passage: Make) -> None:
    many = tuple(AnswerSpan(n % 7, 8, 0.9) for n in range(MAX_EVIDENCE + 4))
    judgement = in_parts(passage, 0.9, (0.9, 0.9), (*many, AnswerSpan(5, 7, 0.1, 1)))
    assert len(judgement.evidence) == MAX_EVIDENCE
    assert [evidence.part for evidence in judgement.evidence] == [0] * (MAX_EVIDENCE - 1) + [1]
