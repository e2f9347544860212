"""Builds outcomes without asking anything."""

from __future__ import annotations

from dataclasses import replace

from bookbound import testing
from bookbound.domain.reply import Answer, Refusal
from bookbound.evaluation.question_set import EvaluationQuestion, EvidenceQuote
from bookbound.evaluation.runner import GradedReply, QuestionOutcome

PASSAGE = testing.make_passage("A trot moves diagonal legs together.")


def make_item(
    *, answerable: bool = True, kind: str = "fact", question: str = "What is a trot?", **fields: str
) -> EvaluationQuestion:
    evidence = (EvidenceQuote("chapter-1.md", "A trot moves"),) if answerable else ()
    return EvaluationQuestion(1, "q1", question, answerable, kind, evidence, (), **fields)


def make_answered(
    probability: float, *, right: bool = True, rank: int | None = 0, item: EvaluationQuestion | None = None
) -> QuestionOutcome:
    """A question that is answered at the operating point."""
    item = item or make_item()
    result = make_graded_answer(probability, right=right)
    return QuestionOutcome(item, (rank,) if item.answerable else (), result, result, 10.0)


def make_refused(
    probability: float, *, kind: str = "near_miss", answerable: bool = False, right: bool = False
) -> QuestionOutcome:
    """A question that is refused at the operating point and answered, right or wrong, without a threshold."""
    item = make_item(answerable=answerable, kind=kind)
    answer = make_graded_answer(probability, right=right)
    return QuestionOutcome(
        item, (None,) if answerable else (), GradedReply(make_refusal_reply(probability)), answer, 20.0
    )


def make_graded_answer(probability: float, *, right: bool) -> GradedReply:
    answer: Answer = testing.make_answer([("A trot moves diagonal legs together.", PASSAGE)])
    reply = replace(answer, judgement=replace(answer.judgement, probability=probability))
    return GradedReply(reply, (right,), (True,), float(right), right, 1.0 if right else 0.5)


def make_unsure(
    probability: float, *, kind: str = "fact", answerable: bool = True, shows_evidence: bool = True
) -> QuestionOutcome:
    """A question with an unsure reply at the operating point, which is answered right without a threshold."""
    reply = testing.make_unsure([PASSAGE])
    reply = replace(reply, judgement=replace(reply.judgement, probability=probability))
    result = GradedReply(reply, closest_with_evidence=(False, shows_evidence))
    item = make_item(answerable=answerable, kind=kind)
    return QuestionOutcome(item, (0,) if answerable else (), result, make_graded_answer(probability, right=True), 15.0)


def make_refusal_reply(probability: float) -> Refusal:
    refusal = testing.make_refusal()
    return replace(refusal, judgement=replace(refusal.judgement, probability=probability))
