"""Drops the sentences of a draft that their evidence does not support."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import replace

from bookbound.domain.ports import Verifier
from bookbound.domain.reply import SUPPORT_THRESHOLD, AnswerSentence, WriterEvent
from bookbound.domain.trace import StageClock


async def keep_supported(
    draft: AsyncGenerator[WriterEvent], verifier: Verifier, clock: StageClock | None = None
) -> AsyncGenerator[WriterEvent]:
    """Yields the sentences of a draft that their evidence supports, each citing only the words that support it."""
    clock = clock or StageClock()
    async with aclosing(draft):
        while True:
            with clock.measure("write"):
                event = await anext(draft, None)
            if event is None:
                return
            if isinstance(event, AnswerSentence):
                with clock.measure("verify"):
                    support = await verifier.support(event.text, event.evidence)
                # Not "below the threshold", which is also false for a probability that is not a number.
                if not (support.evidence and support.probability >= SUPPORT_THRESHOLD):
                    continue
                event = replace(event, evidence=support.evidence, support=support.probability)
            yield event
