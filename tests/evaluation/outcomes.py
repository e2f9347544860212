"""Outcomes made by hand."""

from __future__ import annotations

from dataclasses import replace

from bookbound import testing
from bookbound.domain.reply import Answer, Refusal
from bookbound.evaluation.question_set import EvaluationQuestion, EvidenceQuote
from bookbound.evaluation.runner import GradedReply, QuestionOutcome

PASSAGE = testing.make_passage("A trot moves diagonal legs together.")


def item(
    *, answerable: bool = True, kind: str = "fact", question: str = "What is a trot?", **known: str
) -> EvaluationQuestion:
    evidence = (EvidenceQuote("chapter-1.md", "A trot moves"),) if answerable else ()
    return EvaluationQuestion(1, "q1", question, answerable, kind, evidence, (), **known)


def answered(
    probability: float, *, right: bool = True, rank: int | None = 0, asked: EvaluationQuestion | None = None
) -> QuestionOutcome:
    """A question that is answered at the operating point."""
    asked = asked or item()
    marks = answer(probability, right=right)
    return QuestionOutcome(asked, (rank,) if asked.answerable else (), marks, marks, 10.0)


def refused(
    probability: float, *, kind: str = "near_miss", answerable: bool = False, right: bool = False
) -> QuestionOutcome:
    """A question that is refused at the operating point; dared, it is answered, rightly or not."""
    asked = item(answerable=answerable, kind=kind)
    given = GradedReply(refusal(probability), (), (), 0.0, False, 0.0)
    return QuestionOutcome(asked, (None,) if answerable else (), given, answer(probability, right=right), 20.0)


def answer(probability: float, *, right: bool) -> GradedReply:
    made: Answer = testing.make_answer([("A trot moves diagonal legs together.", PASSAGE)])
    reply = replace(made, judgement=replace(made.judgement, probability=probability))
    return GradedReply(reply, (right,), (True,), float(right), right, 1.0 if right else 0.5)


def refusal(probability: float) -> Refusal:
    made = testing.make_refusal()
    return replace(made, judgement=replace(made.judgement, probability=probability))
