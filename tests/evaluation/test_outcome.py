from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace

import pytest
from tests.evaluation.outcomes import answer, answered, item, refusal, refused

from bookbound.answering.pipeline import Pipeline
from bookbound.domain.chunk import Passage
from bookbound.domain.judgement import Assessment, PassageAssessment
from bookbound.domain.reply import Answer, Refusal
from bookbound.evaluation.question_set import EvaluationQuestion, EvidenceQuote
from bookbound.evaluation.runner import (
    CachedAnswerabilityModel,
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


def about(question: str, *evidence: EvidenceQuote, must: tuple[str, ...] = ()) -> EvaluationQuestion:
    return EvaluationQuestion(1, "q", question, bool(evidence), "fact", evidence, must)


def test_an_answer_that_cites_the_evidence_is_marked_as_such(runner: asyncio.Runner, pipeline: Pipeline) -> None:
    asked = about("What does a harmonic drive consist of?", CONSISTS, must=("Circular Spline",))
    (outcome,) = ask(runner, pipeline, asked)
    marks = outcome.given
    assert isinstance(marks.reply, Answer)
    assert (outcome.ranks, marks.cited, marks.contained, marks.covered) == ((0,), True, True, 1.0)
    assert all(marks.verbatim)
    assert 0 < marks.token_f1 <= 1
    assert outcome.right(marks)
    assert outcome.dared is marks
    assert outcome.milliseconds > 0


def test_evidence_elsewhere_in_the_book_is_not_cited(runner: asyncio.Runner, pipeline: Pipeline) -> None:
    (outcome,) = ask(runner, pipeline, about("What does a harmonic drive consist of?", GREASE))
    assert outcome.given.answered
    assert (outcome.given.cited, outcome.given.covered) == (False, 0.0)
    assert not outcome.right(outcome.given)


def test_words_that_must_be_there_and_are_not_make_an_answer_wrong(runner: asyncio.Runner, pipeline: Pipeline) -> None:
    asked = about("What does a harmonic drive consist of?", CONSISTS, must=("planet carrier",))
    (outcome,) = ask(runner, pipeline, asked)
    assert (outcome.given.cited, outcome.given.contained) == (True, False)
    assert not outcome.right(outcome.given)


def test_a_question_that_is_not_surely_answered_counts_as_refused_and_is_dared_for_the_curve(
    runner: asyncio.Runner, pipeline: Pipeline
) -> None:
    question, point = about("What does a harmonic drive consist of?", CONSISTS), pipeline.point
    (offered,) = ask(runner, replace(pipeline, point=replace(point, answered=1.0, drafted=0.0)), question)
    assert isinstance(offered.given.reply, Answer)
    assert (offered.given.answered, offered.given.cited, offered.dared.answered) == (False, False, True)
    (outcome,) = ask(runner, replace(pipeline, point=replace(point, answered=1.0, drafted=None)), question)
    assert isinstance(outcome.given.reply, Refusal)
    assert (outcome.given.contained, outcome.given.token_f1) == (False, 0.0)
    assert isinstance(outcome.dared.reply, Answer)
    assert outcome.dared.cited


def test_a_daring_pipeline_keeps_what_counts_as_relevant(pipeline: Pipeline) -> None:
    assert remove_answer_threshold(pipeline).point == replace(pipeline.point, answered=0.0)


def test_each_piece_of_evidence_has_its_own_rank(runner: asyncio.Runner, pipeline: Pipeline) -> None:
    (outcome,) = ask(runner, pipeline, about("What does a harmonic drive consist of?", CONSISTS, GREASE))
    first, second = outcome.ranks
    assert first == 0
    assert second
    assert outcome.given.covered == 0.5


def test_the_questions_are_counted_as_they_are_asked(runner: asyncio.Runner, pipeline: Pipeline) -> None:
    ticks: list[int] = []
    runner.run(run_questions(pipeline, [about("Why?"), replace(about("How?"), id="2")], lambda: ticks.append(1)))
    assert ticks == [1, 1]


@pytest.mark.parametrize(
    ("outcome", "right"),
    [
        (answered(0.9), True),
        (answered(0.9, right=False), False),
        (answered(0.9, asked=item(answerable=False, kind="near_miss")), False),
        (answered(0.9, asked=item(answerable=False, kind="false_premise"), right=False), False),
        (answered(0.9, asked=item(answerable=False, kind="false_premise"), right=True), True),
        (refused(0.1, kind="near_miss"), True),
        (refused(0.1, kind="false_premise"), True),
        (refused(0.1, kind="fact", answerable=True), False),
    ],
)
def test_what_has_an_answer_is_answered_and_what_has_none_is_refused_or_its_premise_corrected(
    outcome: QuestionOutcome, right: bool
) -> None:
    assert outcome.right(outcome.given) is right


def test_an_answer_needs_its_evidence_and_its_words() -> None:
    whole = answer(0.9, right=True)
    outcome = answered(0.9)
    assert outcome.right(whole)
    assert not outcome.right(replace(whole, holding=(False,)))
    assert not outcome.right(replace(whole, contained=False))
    assert outcome.right(replace(whole, holding=(False, True)))
    assert not outcome.right(GradedReply(refusal(0.1), (), (), 0.0, False, 0.0))


@pytest.mark.parametrize(
    ("said", "evidence", "expected"),
    [
        ("A trot moves legs.", "the TROT moves **legs**", 1.0),
        ("trot trot", "trot", 2 / 3),
        ("a pace", "a trot", 0.0),
        ("motor", "the [motor](https://x.example/page)", 1.0),
        ("", "", 0.0),
    ],
)
def test_token_f1_compares_words_without_articles_markup_and_case(said: str, evidence: str, expected: float) -> None:
    assert compute_token_f1(said, evidence) == pytest.approx(expected)


class Counting:
    """An examiner that says how often it was asked."""

    def __init__(self) -> None:
        self.asked = 0

    async def examine(self, question: str, passages: Sequence[Passage]) -> Assessment:
        self.asked += 1
        return Assessment(0.5, tuple(PassageAssessment(0.5) for _ in passages))


def test_a_question_that_is_put_again_is_not_read_again(runner: asyncio.Runner) -> None:
    counting = Counting()
    remembered = CachedAnswerabilityModel(counting)
    first = runner.run(remembered.examine("How?", ()))
    assert runner.run(remembered.examine("How?", ())) is first
    runner.run(remembered.examine("Why?", ()))
    assert counting.asked == 2


def test_every_question_is_read_while_its_time_is_taken_the_first_too(
    runner: asyncio.Runner, pipeline: Pipeline
) -> None:
    counting = Counting()
    asked = [about("What is a trot?"), about("What is a pace?"), about("How light is the wrist?")]
    ask(runner, replace(pipeline, examiner=counting), *asked)
    assert counting.asked == len(asked) + 1
