"""Questions are asked and their replies graded."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace

import pytest
from tests.evaluation.outcomes import (
    make_answered,
    make_graded_answer,
    make_item,
    make_refusal_reply,
    make_refused,
    make_unsure,
)
from tests.pipelines import with_point

from bookbound.answering.deciding.operating_point import OperatingPoint
from bookbound.answering.pipeline import Pipeline
from bookbound.answering.understanding import understand_part
from bookbound.domain.chunk import Passage
from bookbound.domain.judgement import Assessment, PassageAssessment
from bookbound.domain.question import NO_DEADLINE, Deadline, QuestionPart
from bookbound.domain.reply import Answer, Refusal, Unsure
from bookbound.evaluation.question_set import EvaluationQuestion, EvidenceQuote
from bookbound.evaluation.runner import (
    CachedAssessor,
    GradedReply,
    QuestionOutcome,
    compute_token_f1,
    remove_answer_threshold,
    run_questions,
)

CONSISTS = EvidenceQuote("drives.md", "It consists of a `wave generator`, a *flexspline* and a circular spline.")
GREASE = EvidenceQuote("gaits.md", "Grease it every 500 hours.")


def ask(runner: asyncio.Runner, pipeline: Pipeline, *items: EvaluationQuestion) -> list[QuestionOutcome]:
    return runner.run(run_questions(pipeline, items))


def make_question(question: str, *evidence: EvidenceQuote, must: tuple[str, ...] = ()) -> EvaluationQuestion:
    return EvaluationQuestion(1, "q", question, bool(evidence), "fact", evidence, must)


def test_an_answer_that_cites_its_evidence_is_right(runner: asyncio.Runner, pipeline: Pipeline) -> None:
    item = make_question("What does a harmonic drive consist of?", CONSISTS, must=("Circular Spline",))
    (outcome,) = ask(runner, pipeline, item)
    result = outcome.result
    assert isinstance(result.reply, Answer)
    assert (outcome.ranks, result.cites_evidence, result.has_required_text, result.evidence_coverage) == (
        (0,),
        True,
        True,
        1.0,
    )
    assert all(result.verbatim_citations)
    assert 0 < result.token_f1 <= 1
    assert outcome.is_right(result)
    assert outcome.result_without_threshold is result
    assert outcome.milliseconds > 0


def test_an_answer_that_cites_something_else_is_wrong(runner: asyncio.Runner, pipeline: Pipeline) -> None:
    (outcome,) = ask(runner, pipeline, make_question("What does a harmonic drive consist of?", GREASE))
    assert outcome.result.is_answered
    assert (outcome.result.cites_evidence, outcome.result.evidence_coverage) == (False, 0.0)
    assert not outcome.is_right(outcome.result)


def test_an_answer_without_the_required_text_is_wrong(runner: asyncio.Runner, pipeline: Pipeline) -> None:
    item = make_question("What does a harmonic drive consist of?", CONSISTS, must=("planet carrier",))
    (outcome,) = ask(runner, pipeline, item)
    assert (outcome.result.cites_evidence, outcome.result.has_required_text) == (True, False)
    assert not outcome.is_right(outcome.result)


def test_an_unsure_reply_is_no_answer_and_the_question_is_asked_again_without_a_threshold(
    runner: asyncio.Runner, pipeline: Pipeline
) -> None:
    question = make_question("What does a harmonic drive consist of?", CONSISTS)
    (unsure,) = ask(runner, with_point(pipeline, answer_threshold=1.0, unsure_threshold=0.0), question)
    assert isinstance(unsure.result.reply, Unsure)
    assert any(unsure.result.closest_with_evidence)
    assert (unsure.result.is_unsure, unsure.result.is_answered, unsure.result.cites_evidence) == (True, False, False)
    assert unsure.result_without_threshold.is_answered
    (outcome,) = ask(runner, with_point(pipeline, answer_threshold=1.0, unsure_threshold=1.0), question)
    assert isinstance(outcome.result.reply, Refusal)
    assert (outcome.result.has_required_text, outcome.result.token_f1) == (False, 0.0)
    assert isinstance(outcome.result_without_threshold.reply, Answer)
    assert outcome.result_without_threshold.cites_evidence


def test_removing_the_answer_threshold_keeps_the_relevance_threshold(pipeline: Pipeline) -> None:
    point = pipeline.book.operating_point
    assert remove_answer_threshold(pipeline).book.operating_point == OperatingPoint(0.0, point.relevance_threshold)


def test_each_evidence_quote_has_its_own_rank(runner: asyncio.Runner, pipeline: Pipeline) -> None:
    (outcome,) = ask(runner, pipeline, make_question("What does a harmonic drive consist of?", CONSISTS, GREASE))
    first, second = outcome.ranks
    assert first == 0
    assert second
    assert outcome.result.evidence_coverage == 0.5


def test_progress_is_reported_after_each_question(runner: asyncio.Runner, pipeline: Pipeline) -> None:
    calls: list[int] = []
    runner.run(
        run_questions(
            pipeline, [make_question("Why?"), replace(make_question("How?"), id="2")], lambda: calls.append(1)
        )
    )
    assert calls == [1, 1]


@pytest.mark.parametrize(
    ("outcome", "right"),
    [
        (make_answered(0.9), True),
        (make_answered(0.9, right=False), False),
        (make_answered(0.9, item=make_item(answerable=False, kind="near_miss")), False),
        (make_answered(0.9, item=make_item(answerable=False, kind="false_premise"), right=False), False),
        (make_answered(0.9, item=make_item(answerable=False, kind="false_premise"), right=True), True),
        (make_refused(0.1, kind="near_miss"), True),
        (make_refused(0.1, kind="false_premise"), True),
        (make_refused(0.1, kind="fact", answerable=True), False),
        (make_unsure(0.5), False),
        (make_unsure(0.5, answerable=False, kind="near_miss"), True),
    ],
)
def test_a_result_is_right_if_it_answers_refuses_or_corrects_as_expected(outcome: QuestionOutcome, right: bool) -> None:
    assert outcome.is_right(outcome.result) is right


def test_a_right_answer_needs_evidence_and_the_required_text() -> None:
    complete = make_graded_answer(0.9, right=True)
    outcome = make_answered(0.9)
    assert outcome.is_right(complete)
    assert not outcome.is_right(replace(complete, citations_with_evidence=(False,)))
    assert not outcome.is_right(replace(complete, has_required_text=False))
    assert outcome.is_right(replace(complete, citations_with_evidence=(False, True)))
    assert not outcome.is_right(GradedReply(make_refusal_reply(0.1)))


@pytest.mark.parametrize(
    ("answer", "evidence", "expected"),
    [
        ("A trot moves legs.", "the TROT moves **legs**", 1.0),
        ("trot trot", "trot", 2 / 3),
        ("a pace", "a trot", 0.0),
        ("motor", "the [motor](https://x.example/page)", 1.0),
        ("", "", 0.0),
    ],
)
def test_token_f1_compares_words_without_articles_markup_and_case(answer: str, evidence: str, expected: float) -> None:
    assert compute_token_f1(answer, evidence) == pytest.approx(expected)


class CountingAssessor:
    """Counts its calls."""

    def __init__(self) -> None:
        self.calls = 0

    async def assess(
        self, part: QuestionPart, passages: Sequence[Passage], deadline: Deadline = NO_DEADLINE
    ) -> Assessment:
        self.calls += 1
        return Assessment(0.5, tuple(PassageAssessment(0.5) for _ in passages))


def test_a_repeated_question_is_assessed_once(runner: asyncio.Runner) -> None:
    counting = CountingAssessor()
    cached = CachedAssessor(counting)
    first = runner.run(cached.assess(understand_part("How?"), ()))
    assert runner.run(cached.assess(understand_part("How?"), ())) is first
    runner.run(cached.assess(understand_part("Why?"), ()))
    assert counting.calls == 2


def test_every_question_is_assessed_while_its_time_is_measured(runner: asyncio.Runner, pipeline: Pipeline) -> None:
    counting = CountingAssessor()
    items = [
        make_question("What is a trot?"),
        make_question("What is a pace?"),
        make_question("How light is the wrist?"),
    ]
    ask(runner, replace(pipeline, engine=replace(pipeline.engine, assessor=counting)), *items)
    assert counting.calls == len(items) + 1
