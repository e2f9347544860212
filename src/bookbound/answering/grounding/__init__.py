"""Keeps the sentences of a draft that their citations support and drops the others."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from dataclasses import replace

from bookbound.domain.ports import Verifier
from bookbound.domain.reply import SUPPORT_THRESHOLD, AnswerSentence, WriterEvent


async def keep_supported(draft: AsyncGenerator[WriterEvent], verifier: Verifier) -> AsyncGenerator[WriterEvent]:
    """The sentences of a draft that the words they cite support, each with how surely, and all that is no sentence.

    Each cites the words that carry it, and nothing else; what nothing carries is not supported.
    """
    async for piece in draft:
        if not isinstance(piece, AnswerSentence):
            yield piece
            continue
        support = await verifier.support(piece.text, piece.evidence)
        if support.evidence and support.probability >= SUPPORT_THRESHOLD:
            yield replace(piece, evidence=support.evidence, support=support.probability)
