"""Outcomes made by hand."""

from __future__ import annotations

from dataclasses import replace

from bookbound import testing
from bookbound.dialogue import Answer, Refusal
from bookbound.measure.outcome import Marks, Outcome
from bookbound.measure.questions import Item, Quote

PASSAGE = testing.passage("A trot moves diagonal legs together.")


def item(*, answerable: bool = True, kind: str = "fact", question: str = "What is a trot?", **known: str) -> Item:
    evidence = (Quote("chapter-1.md", "A trot moves"),) if answerable else ()
    return Item(1, "q1", question, answerable, kind, evidence, (), **known)


def answered(probability: float, *, right: bool = True, rank: int | None = 0, asked: Item | None = None) -> Outcome:
    """A question that is answered at the operating point."""
    asked = asked or item()
    marks = answer(probability, right=right)
    return Outcome(asked, (rank,) if asked.answerable else (), marks, marks, 10.0)


def refused(probability: float, *, kind: str = "near_miss", answerable: bool = False, right: bool = False) -> Outcome:
    """A question that is refused at the operating point; dared, it is answered, rightly or not."""
    asked = item(answerable=answerable, kind=kind)
    given = Marks(refusal(probability), (), (), 0.0, False, 0.0)
    return Outcome(asked, (None,) if answerable else (), given, answer(probability, right=right), 20.0)


def answer(probability: float, *, right: bool) -> Marks:
    made: Answer = testing.answer([("A trot moves diagonal legs together.", PASSAGE)])
    reply = replace(made, judgement=replace(made.judgement, probability=probability))
    return Marks(reply, (right,), (True,), float(right), right, 1.0 if right else 0.5)


def refusal(probability: float) -> Refusal:
    made = testing.refusal()
    return replace(made, judgement=replace(made.judgement, probability=probability))
