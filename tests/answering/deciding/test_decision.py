from __future__ import annotations

from collections.abc import Callable

import pytest

from bookbound.answering.deciding.decision import (
    MAX_EVIDENCE,
    PARTIAL_ANSWER_WEIGHT,
    decide,
    merge_part_readings,
    rank_passages,
)
from bookbound.answering.deciding.operating_point import OperatingPoint
from bookbound.answering.understanding import understand
from bookbound.domain.chunk import Passage
from bookbound.domain.judgement import AnswerSpan, Assessment, Judgement, PassageAssessment, RefusalReason
from bookbound.domain.question import SELECTION_CHUNK_ID, AnswerScope, Question, Retrieval

POINT = OperatingPoint(answer_threshold=0.5, relevance_threshold=0.4)
Make = Callable[..., Passage]


def judge(
    passages: list[Passage],
    relevances: list[float],
    whole: float,
    question: Question | None = None,
    point: OperatingPoint = POINT,
) -> Judgement:
    readings = tuple(PassageAssessment(p, (AnswerSpan(0, 4, p),)) for p in relevances)
    retrieval = Retrieval(tuple(passages))
    return decide(understand(question or Question("How?")), retrieval, Assessment(whole, readings), point)


def test_an_empty_retrieval_is_refused() -> None:
    assert judge([], [], 0.9).refusal is RefusalReason.EMPTY_RETRIEVAL


def test_a_question_at_the_threshold_is_answered(passage: Make) -> None:
    judgement = judge([passage("Walk on.")], [0.4], 0.5)
    assert judgement.refusal is None
    assert judgement.answer_present


def test_a_question_just_below_the_threshold_is_refused(passage: Make) -> None:
    judgement = judge([passage("Walk on.")], [0.4], 0.499)
    assert judgement.refusal is RefusalReason.INSUFFICIENT_GROUNDING
    assert not judgement.answer_present


UNSURE_POINT = OperatingPoint(answer_threshold=0.5, relevance_threshold=0.4, unsure_threshold=0.2)


@pytest.mark.parametrize(("whole", "is_unsure"), [(0.5, False), (0.499, True), (0.2, True), (0.199, False)])
def test_a_question_is_unsure_from_the_unsure_threshold_to_the_answer_threshold(
    passage: Make, whole: float, is_unsure: bool
) -> None:
    judgement = judge([passage("Walk on.")], [0.4], whole, point=UNSURE_POINT)
    assert judgement.is_unsure is is_unsure
    assert judgement.answer_present is (whole >= 0.5)
    if is_unsure:
        assert judgement.refusal is RefusalReason.INSUFFICIENT_GROUNDING
        assert judgement.evidence


def test_an_unsure_selection_has_its_own_reason(passage: Make) -> None:
    question = Question("How?", "Walk on.", AnswerScope.SELECTION)
    judgement = judge([passage("Walk on.")], [0.4], 0.3, question, UNSURE_POINT)
    assert (judgement.refusal, judgement.is_unsure) == (RefusalReason.SELECTED_TEXT_MISSING, True)


def test_without_a_relevant_or_similar_passage_no_question_is_unsure(passage: Make) -> None:
    for question in (Question("How?"), Question("How?", threshold=0.5)):
        assert not judge([passage("Walk on.")], [0.39], 0.3, question, UNSURE_POINT).is_unsure
    assert not judge([passage("Walk on.")], [0.9], 0.3, Question("How?", threshold=0.7), UNSURE_POINT).is_unsure
    assert not judge([], [], 0.3, point=UNSURE_POINT).is_unsure


def test_a_question_without_a_relevant_passage_is_refused_for_low_relevance(passage: Make) -> None:
    assert judge([passage("Walk on.")], [0.39], 0.9).refusal is RefusalReason.LOW_RELEVANCE


def test_scores_below_the_question_s_threshold_are_refused_for_low_relevance(passage: Make) -> None:
    question = Question("How?", threshold=0.61)
    assert judge([passage("Walk on.", score=0.6)], [0.9], 0.9, question).refusal is RefusalReason.LOW_RELEVANCE
    question = Question("How?", threshold=0.6)
    assert judge([passage("Walk on.", score=0.6)], [0.9], 0.9, question).refusal is None


def test_above_the_question_s_threshold_an_unanswered_question_lacks_grounding(passage: Make) -> None:
    question = Question("How?", threshold=0.6)
    refusal = judge([passage("Walk on.", score=0.6)], [0.1], 0.1, question).refusal
    assert refusal is RefusalReason.INSUFFICIENT_GROUNDING


def test_a_selection_that_does_not_answer_is_refused_with_its_own_reason(passage: Make) -> None:
    question = Question("How?", "Walk on.", AnswerScope.SELECTION)
    assert judge([passage("Walk on.")], [0.1], 0.1, question).refusal is RefusalReason.SELECTED_TEXT_MISSING


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
def test_quality_depends_on_the_relevant_passages(
    passage: Make, relevances: list[float], whole: float, quality: str
) -> None:
    passages = [passage("Walk on.", name=str(i)) for i in range(len(relevances))]
    assert judge(passages, relevances, whole).quality == quality


def test_evidence_is_verbatim_best_first_and_only_from_relevant_passages(passage: Make) -> None:
    passages = [passage("Walk on.", name="a"), passage("Step back.", name="b"), passage("Rest now.", name="c")]
    judgement = judge(passages, [0.5, 0.8, 0.2], 0.9)
    assert [evidence.chunk_id for evidence in judgement.evidence] == ["b", "a"]
    assert [evidence.text for evidence in judgement.evidence] == ["Step", "Walk"]
    assert (judgement.evidence[0].place.start, judgement.evidence[0].place.end) == (100, 104)
    assert judgement.relevant_chunk_ids == ("a", "b")


def judge_parts(
    passage: Make,
    whole: float,
    parts: tuple[float, ...],
    spans: tuple[AnswerSpan, ...] = (AnswerSpan(0, 4, 0.9), AnswerSpan(5, 7, 0.8, 1)),
    point: OperatingPoint = POINT,
) -> Judgement:
    assessment = Assessment(whole, (PassageAssessment(0.9, spans),), parts)
    return decide(understand(Question("Who, and how?")), Retrieval((passage("Walk on."),)), assessment, point)


def test_a_question_with_one_answered_part_is_answered_partially(passage: Make) -> None:
    judgement = judge_parts(passage, 0.5, (0.1, 0.99))
    assert (judgement.refusal, judgement.is_partial, judgement.probability) == (None, True, 0.5)


def test_a_partial_answer_has_evidence_only_for_answered_parts(passage: Make) -> None:
    (evidence,) = judge_parts(passage, 0.5, (0.1, 0.99)).evidence
    assert (evidence.text, evidence.part) == ("on", 1)


def test_a_question_with_all_parts_answered_is_not_partial(passage: Make) -> None:
    judgement = judge_parts(passage, 0.6, (0.7, 0.9))
    assert (judgement.refusal, judgement.is_partial) == (None, False)
    assert [evidence.part for evidence in judgement.evidence] == [0, 1]


def test_the_probability_of_the_whole_question_decides_and_not_that_of_a_part(passage: Make) -> None:
    judgement = judge_parts(passage, 0.49, (0.6, 0.8))
    assert (judgement.refusal, judgement.is_partial) == (RefusalReason.INSUFFICIENT_GROUNDING, False)


def test_a_part_may_be_unsure_although_another_is_answered(passage: Make) -> None:
    judgement = judge_parts(passage, 0.5, (0.22, 0.99), point=UNSURE_POINT)
    assert (judgement.answer_present, judgement.is_unsure, judgement.is_partial) == (True, False, False)
    assert (judgement.unsure_parts, [evidence.part for evidence in judgement.evidence]) == ((0,), [0, 1])
    assert judge_parts(passage, 0.5, (0.1, 0.99), point=UNSURE_POINT).unsure_parts == ()


def test_a_part_with_half_of_the_answer_threshold_is_shown_with_the_others(passage: Make) -> None:
    assert judge_parts(passage, 0.5, (0.3, 0.99), point=UNSURE_POINT).unsure_parts == ()


def test_an_unsure_question_with_a_part_that_is_not_answered_is_partial(passage: Make) -> None:
    judgement = judge_parts(passage, 0.2, (0.1, 0.4), point=UNSURE_POINT)
    assert (judgement.is_unsure, judgement.is_partial, judgement.unsure_parts) == (True, True, ())
    assert [evidence.part for evidence in judgement.evidence] == [1]


def test_a_question_without_an_answered_part_is_refused(passage: Make) -> None:
    judgement = judge_parts(passage, 0.4, (0.4, 0.3))
    assert (judgement.refusal, judgement.is_partial) == (RefusalReason.INSUFFICIENT_GROUNDING, False)
    assert judgement.probability == 0.4


def test_the_evidence_includes_the_best_words_for_each_part(passage: Make) -> None:
    many = tuple(AnswerSpan(n % 7, 8, 0.9) for n in range(MAX_EVIDENCE + 4))
    judgement = judge_parts(passage, 0.9, (0.9, 0.9), (*many, AnswerSpan(5, 7, 0.1, 1)))
    assert len(judgement.evidence) == MAX_EVIDENCE
    assert [evidence.part for evidence in judgement.evidence] == [0] * (MAX_EVIDENCE - 1) + [1]


def names(question: Question, passages: list[Passage], assessment: Assessment) -> list[str]:
    retrieval, read = rank_passages(Retrieval(tuple(passages)), assessment, question.k)
    before = {p.chunk.id: reading for p, reading in zip(passages, assessment.readings, strict=True)}
    assert list(read.readings) == [before[passage.chunk.id] for passage in retrieval.passages]
    assert read.probability == assessment.probability
    return [passage.chunk.id for passage in retrieval.passages]


def test_the_k_most_probable_passages_come_first(passage: Make) -> None:
    passages = [passage("a", "a"), passage("b", "b"), passage("c", "c")]
    assessment = Assessment(0.9, (PassageAssessment(0.1), PassageAssessment(0.3), PassageAssessment(0.8)))
    assert names(Question("?", k=2), passages, assessment) == ["c", "b"]
    assert names(Question("?", k=1), passages, assessment) == ["c"]
    assert names(Question("?", k=20), passages, assessment) == ["c", "b", "a"]


@pytest.mark.parametrize("sure", [0.0, 0.8, 1.0])
def test_equal_readings_keep_the_order_of_the_search(passage: Make, sure: float) -> None:
    passages = [passage(name, name) for name in "abcdef"]
    assert names(Question("?", k=6), passages, Assessment(0.9, (PassageAssessment(sure),) * 6)) == list("abcdef")


def test_a_selection_comes_first_and_is_not_one_of_the_k_passages(passage: Make) -> None:
    passages = [passage("s", SELECTION_CHUNK_ID, 1.0), passage("a", "a"), passage("b", "b")]
    assessment = Assessment(0.9, (PassageAssessment(0.0), PassageAssessment(0.1), PassageAssessment(0.8)))
    question = Question("?", "s", AnswerScope.SELECTION_THEN_BOOK, k=1)
    assert names(question, passages, assessment) == [SELECTION_CHUNK_ID, "b"]


def test_the_best_passage_of_each_part_comes_before_any_second_best(passage: Make) -> None:
    passages = [passage("a", "a"), passage("b", "b"), passage("c", "c")]
    readings = (
        PassageAssessment(0.9, (AnswerSpan(0, 1, 0.9, 0),)),
        PassageAssessment(0.8, (AnswerSpan(0, 1, 0.8, 0), AnswerSpan(0, 1, 0.1, 1))),
        PassageAssessment(0.5, (AnswerSpan(0, 1, 0.4, 1),)),
    )
    assert names(Question("?", k=2), passages, Assessment(0.9, readings, (0.9, 0.4))) == ["a", "c"]
    assert names(Question("?", k=2), passages, Assessment(0.9, readings)) == ["a", "b"]


def test_an_empty_retrieval_stays_empty() -> None:
    assert names(Question("?"), [], Assessment(0.0, ())) == []


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
