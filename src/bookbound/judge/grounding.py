"""Is every sentence supported? What is not, goes."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from dataclasses import replace

from bookbound.dialogue import SUPPORTED, Sentence
from bookbound.ports import Verifier


async def ground(draft: AsyncGenerator[Sentence], verifier: Verifier) -> AsyncGenerator[Sentence]:
    """The sentences of a draft that the words they cite support, each with how surely."""
    async for sentence in draft:
        support = await verifier.support(sentence.text, sentence.evidence) if sentence.evidence else 0.0
        if support >= SUPPORTED:
            yield replace(sentence, support=support)
