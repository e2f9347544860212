"""Answers in the book's own words."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence

from bookbound.book import Passage
from bookbound.dialogue import Question, Sentence
from bookbound.finding import Evidence, Judgement

MOST = 4
NEAR = 0.5


class Quotes:
    """Quotes the words that answer, each with its citation: file by file, the best first, in the order of the file."""

    name = "quotes"

    async def write(
        self, question: Question, passages: Sequence[Passage], judgement: Judgement
    ) -> AsyncGenerator[Sentence]:
        files = list(dict.fromkeys(passage.chunk.place.file for passage in passages))
        for evidence in sorted(_chosen(judgement.evidence), key=lambda e: (files.index(e.place.file), e.place.start)):
            yield Sentence(evidence.text, (evidence,))


def _chosen(evidence: Sequence[Evidence]) -> list[Evidence]:
    """The likeliest words, and those nearly as likely, each said once."""
    chosen: list[Evidence] = []
    for piece in evidence:
        if len(chosen) < MOST and piece.probability >= NEAR * evidence[0].probability and not _said(piece, chosen):
            chosen.append(piece)
    return chosen


def _said(piece: Evidence, chosen: Sequence[Evidence]) -> bool:
    words = " ".join(piece.text.split())
    return any(words == " ".join(other.text.split()) for other in chosen)
