from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from bookbound.answering.decision import MAX_EVIDENCE, build_reply, decide, has_only_exercises, rank_passages
from bookbound.answering.operating_point import OperatingPoint
from bookbound.answering.run_state import RunState
from bookbound.domain.chunk import Passage
from bookbound.domain.judgement import AnswerSpan, Assessment, Evidence, Judgement, PassageAssessment, RefusalReason
from bookbound.domain.question import NO_DEADLINE, SELECTION_CHUNK_ID, AnswerScope, Question, Retrieval
from bookbound.domain.reply import Answer, AnswerSentence, Refusal, Reply, Unsure
from bookbound.domain.trace import StageClock, Trace

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
    return decide(question or Question("How?"), retrieval, Assessment(whole, readings), point)


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
    return decide(Question("Who, and how?"), Retrieval((passage("Walk on."),)), assessment, point)


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
    retrieval, read = rank_passages(question, Retrieval(tuple(passages)), assessment)
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


def test_the_section_whose_heading_shares_words_with_the_question_is_the_closest(passage: Make) -> None:
    places = [
        replace(passage("x").chunk.place, headings=(name,), anchor=name) for name in ("Feet", "Gear ratios", "Arms")
    ]
    found = [Passage(replace(passage("x").chunk, id=place.anchor, place=place), 0.5) for place in places]
    run = RunState(Question("How is a gear ratio written in Rust?"), NO_DEADLINE, StageClock(), "quotes")
    retrieval = Retrieval(tuple(found))
    trace = run.build_trace(retrieval, "g", "", "e")
    reply = build_reply(retrieval, judge(found, [0.1] * 3, 0.1), run, trace)
    assert isinstance(reply, Refusal)
    assert [place.section for place in reply.closest] == ["Gear ratios", "Feet", "Arms"]


def reply_with(
    passages: list[Passage],
    question: str,
    *cited: Passage,
    is_partial: bool = False,
    is_missing_part: bool = False,
    has_draft: bool = False,
) -> Reply:
    """Returns the reply to a question whose parts are each answered by the passage of their number."""
    evidence = tuple(Evidence.from_chunk(each.chunk, 0, 4, 0.9, part) for part, each in enumerate(passages))
    judgement = Judgement(0.9, (), evidence, "Good", is_partial=is_partial)
    sentences = [
        AnswerSentence(each.chunk.text, (Evidence.from_chunk(each.chunk, 0, len(each.chunk.text), 0.9),))
        for each in cited
    ]
    run = RunState(Question(question), NO_DEADLINE, StageClock(), "quotes", sentences=sentences)
    run.is_missing_part, run.has_draft = is_missing_part, has_draft
    retrieval = Retrieval(tuple(passages))
    return build_reply(retrieval, judgement, run, Trace(retrieval, "g", "e", "quotes", {}))


TWO_QUESTIONS = "What is a gait? What is a servo?"


def test_an_answer_names_the_parts_for_which_it_cites_nothing(passage: Make) -> None:
    pages = [passage("A gait is a pattern.", "a"), passage("Servos turn.", "b")]
    pages[1] = replace(pages[1], chunk=replace(pages[1].chunk, place=replace(pages[1].chunk.place, file="b.md")))
    both, first, second = (reply_with(pages, TWO_QUESTIONS, *cited) for cited in (pages, pages[:1], pages[1:]))
    assert isinstance(both, Answer)
    assert isinstance(first, Answer)
    assert isinstance(second, Answer)
    assert (both.is_partial, both.judgement.missing_parts) == (False, ())
    assert (first.is_partial, first.judgement.missing_parts) == (True, ("What is a servo?",))
    assert (second.is_partial, second.judgement.missing_parts) == (True, ("What is a gait?",))


def test_a_part_without_evidence_is_missing(passage: Make) -> None:
    gait = passage("A gait is a pattern.")
    reply = reply_with([gait], TWO_QUESTIONS, gait, is_partial=True)
    assert reply.judgement.missing_parts == ("What is a servo?",)


def test_an_answer_to_one_question_has_no_missing_parts(passage: Make) -> None:
    gait = passage("A gait is a pattern.")
    assert reply_with([gait], "What is a gait?", gait).judgement.missing_parts == ()


def test_the_closest_sections_of_a_refusal_are_near_the_question(passage: Make) -> None:
    near, far = passage("Walk on.", "a", score=0.31), passage("Rest.", "b", score=0.29)
    near = replace(near, chunk=replace(near.chunk, place=replace(near.chunk.place, anchor="near")))
    refusal = reply_with([near, far], "How?", is_missing_part=True)
    assert isinstance(refusal, Refusal)
    assert [place.anchor for place in refusal.closest] == ["near"]


def test_a_writer_refuses_only_if_it_writes_no_sentence(passage: Make) -> None:
    pages = [passage("A gait is a pattern.")]
    assert isinstance(reply_with(pages, "What is a gait?", is_missing_part=True), Refusal)
    assert isinstance(reply_with(pages, "What is a gait?", is_missing_part=True, has_draft=True), Unsure)
    task = replace(
        pages[0], chunk=replace(pages[0].chunk, place=replace(pages[0].chunk.place, headings=("Exercises",)))
    )
    assert isinstance(reply_with([task], "What is a gait?", is_missing_part=True), Unsure)


def test_an_answer_that_only_an_exercise_has_is_unsure(passage: Make) -> None:
    task = passage("Show that the gait is a trot.", "a")
    task = replace(task, chunk=replace(task.chunk, place=replace(task.chunk.place, headings=("Exercises",))))
    reply = reply_with([task], "What is the gait?")
    assert isinstance(reply, Unsure)
    assert [quote.text for quote in reply.closest] == ["Show that the gait is a trot."]
    assert (reply.judgement.is_unsure, reply.judgement.refusal) == (True, RefusalReason.INSUFFICIENT_GROUNDING)
    other = reply_with([task, passage("A trot.", "b")], "What is the gait?")
    assert isinstance(other, Unsure)
    assert [quote.text for quote in other.closest] == ["A trot."]


def test_no_evidence_is_not_an_exercise(passage: Make) -> None:
    fact = passage("The gait is a trot.", "a").chunk
    task = replace(fact, place=replace(fact.place, headings=("Exercises",)))
    cited, asked = (Evidence.from_chunk(chunk, 0, 19, 0.9) for chunk in (fact, task))
    assert not has_only_exercises([])
    assert has_only_exercises([asked])
    assert not has_only_exercises([asked, cited])
