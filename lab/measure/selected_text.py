"""`python -m lab.measure.selected_text`: asks each example question about its own evidence, and about that of another.

A reader selects text and asks about it: the evidence of a question should answer it, and other text should not.
"""

from __future__ import annotations

import asyncio
import sys
from typing import NamedTuple

from bookbound import bootstrap
from bookbound.answering.pipeline import Pipeline
from bookbound.domain.question import AnswerScope, Question
from bookbound.domain.reply import Answer
from bookbound.evaluation.question_set import EvaluationQuestion, load_question_set
from bookbound.evaluation.quote_locations import HIDDEN_MARKUP
from bookbound.settings import Settings
from lab.measure.question_sets import list_question_sets

MIN_OWN_ANSWERED, MAX_OTHER_ANSWERED = 88, 2


class SelectionCounts(NamedTuple):
    """The questions that were refused with their own evidence, and those that were answered with other text."""

    asked: int
    refused_with_own: list[str]
    answered_with_other: list[str]


async def count_selections(pipeline: Pipeline, items: list[EvaluationQuestion]) -> SelectionCounts:
    """Asks each question twice; the other text is the evidence of the question half a set further on."""
    texts = [HIDDEN_MARKUP.sub(" ", "\n\n".join(quote.text for quote in item.evidence)) for item in items]
    counts = SelectionCounts(len(items), [], [])
    for number, item in enumerate(items):
        own, other = texts[number], texts[(number + len(items) // 2) % len(items)]
        if not await _is_answered(pipeline, item.question, own):
            counts.refused_with_own.append(item.question)
        if await _is_answered(pipeline, item.question, other):
            counts.answered_with_other.append(item.question)
    return counts


async def _is_answered(pipeline: Pipeline, question: str, selection: str) -> bool:
    asked = Question(question, selection=selection, scope=AnswerScope.SELECTION)
    return isinstance(await pipeline.ask(asked), Answer)


async def measure() -> SelectionCounts:
    example = list_question_sets()[0]
    pipeline = await bootstrap.open_pipeline(Settings(index=example.index))
    try:
        items = [item for item in load_question_set(example.questions) if item.answerable]
        return await count_selections(pipeline, items)
    finally:
        await pipeline.close()


def main() -> None:
    counts = asyncio.run(measure())
    own = counts.asked - len(counts.refused_with_own)
    print(f"own evidence: {own} of {counts.asked} answered (at least {MIN_OWN_ANSWERED})")
    print(*(f"  refused: {question}" for question in counts.refused_with_own), sep="\n")
    print(f"other text: {len(counts.answered_with_other)} of {counts.asked} answered (at most {MAX_OTHER_ANSWERED})")
    print(*(f"  answered: {question}" for question in counts.answered_with_other), sep="\n")
    if own < MIN_OWN_ANSWERED or len(counts.answered_with_other) > MAX_OTHER_ANSWERED:
        sys.exit(1)


if __name__ == "__main__":
    main()
