"""Is every sentence supported? What is not, goes."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from dataclasses import replace

from bookbound.dialogue import SUPPORTED, Sentence, Usage
from bookbound.ports import Verifier


async def ground(draft: AsyncGenerator[Sentence | Usage], verifier: Verifier) -> AsyncGenerator[Sentence | Usage]:
    """The sentences of a draft that the words they cite support, each with how surely, and what the draft took.

    A quote keeps its evidence; what is told in other words cites the units that carry it, and nothing else.
    """
    async for piece in draft:
        if isinstance(piece, Usage):
            yield piece
            continue
        support = await verifier.support(piece.text, piece.evidence) if piece.evidence else 0.0
        if support >= SUPPORTED:
            yield replace(_cited(piece), support=support)


def _cited(sentence: Sentence) -> Sentence:
    if any(sentence.text == piece.text for piece in sentence.evidence):
        return sentence
    from bookbound.judge.narrowed import narrowed  # a quote never needs it

    return replace(sentence, evidence=narrowed(sentence.text, sentence.evidence))
