"""Is every sentence supported? What is not, goes."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from dataclasses import replace

from bookbound.dialogue import SUPPORTED, Piece, Sentence
from bookbound.ports import Verifier


async def ground(draft: AsyncGenerator[Piece], verifier: Verifier) -> AsyncGenerator[Piece]:
    """The sentences of a draft that the words they cite support, each with how surely, and all that is no sentence.

    Each cites the words that carry it, and nothing else; what nothing carries is not supported.
    """
    async for piece in draft:
        if not isinstance(piece, Sentence):
            yield piece
            continue
        support = await verifier.support(piece.text, piece.evidence)
        if support.evidence and support.probability >= SUPPORTED:
            yield replace(piece, evidence=support.evidence, support=support.probability)
