"""Answers in the book's own words."""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator, Sequence

from bookbound.answer.excerpt import Excerpt
from bookbound.book import Passage
from bookbound.dialogue import MOST_SENTENCES, Question, Sentence
from bookbound.finding import Evidence, Judgement
from bookbound.trace import Usage
from bookbound.words import terms

# Where several things are asked for, the list that holds one of them may be the answer.
_SEVERAL = [
    re.compile(pattern, re.I)
    for pattern in (
        r"\b(?:what|which)\s+(?P<things>(?:\S+\s+){0,3}\w*[^\Ws]s)\s+"
        r"(?:are|were|do|does|did|don['’]t|can|can['’]t|could|may|must|should|will|would|have|need|make|exist|belong)\b",
        r"\bhow\s+many\s+(?P<things>.+?)\s+(?:are|were)\s+there\b",
        r"\b(?:what\s+(?:are|were)|list|enumerate|name\s+the|rank|all\s+the)\b(?P<things>.*)",
        r"\b(?P<things>(?:steps|stages|phases|kinds|types|sorts)\b.*)",
    )
]


class Quotes:
    """Quotes the words that answer, with what they need to be understood, each with its citation.

    The best passage speaks first; another speaks too where the question has several parts or it says something new.
    """

    name, reads = "quotes", False

    async def write(
        self, question: Question, passages: Sequence[Passage], judgement: Judgement
    ) -> AsyncGenerator[Sentence | Usage]:
        # The statement that this is only part of the answer, or may be none, is a sentence too.
        room = MOST_SENTENCES - (judgement.partial or not judgement.sure)
        excerpt = Excerpt(question.text, passages, room, _listed(question.text))
        for piece in _by_part(judgement.evidence):
            excerpt.add(piece)
        excerpt.widen()
        for evidence in excerpt.in_order():
            yield Sentence(evidence.text, (evidence,))


def _listed(question: str) -> set[str]:
    """The terms of what a question asks a list of, if it does."""
    found = next((found for pattern in _SEVERAL if (found := pattern.search(question))), None)
    return set(terms(found["things"])) if found else set()


def _by_part(evidence: Sequence[Evidence]) -> list[Evidence]:
    """The best for each part, in the order asked, then the rest, best first."""
    best = {piece.part: piece for piece in reversed(evidence)}
    first = [best[part] for part in sorted(best)]
    return [*first, *(piece for piece in evidence if piece not in first)]
