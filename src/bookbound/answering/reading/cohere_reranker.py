"""Has Cohere rerank the passages that the local readers read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from bookbound.answering.reading.answerability import names_nothing
from bookbound.domain.chunk import Passage
from bookbound.domain.judgement import Assessment
from bookbound.domain.ports import Assessor
from bookbound.domain.question import NO_DEADLINE, SELECTION_CHUNK_ID, Deadline, QuestionPart

if TYPE_CHECKING:
    from bookbound.models.cohere import CohereClient

RERANK_MODEL = "rerank-v3.5"


class CohereRerankAssessor:
    """Has another assessor read the passages in Cohere's order, and takes Cohere's relevance as their probability.

    An answer needs both: a passage that Cohere finds relevant, and words in it that the reader finds to answer. A
    selection keeps its own reading, and a question that only points at the selection is not sent to Cohere.
    """

    def __init__(self, cohere: CohereClient, reader: Assessor, model: str = RERANK_MODEL) -> None:
        self._cohere, self._reader, self._model = cohere, reader, model

    async def assess(
        self, part: QuestionPart, passages: Sequence[Passage], deadline: Deadline = NO_DEADLINE
    ) -> Assessment:
        found = [i for i, passage in enumerate(passages) if passage.chunk.id != SELECTION_CHUNK_ID]
        if not found or names_nothing(part, passages):
            return await self._reader.assess(part, passages, deadline)
        texts = [passages[i].chunk.embedding_text for i in found]
        scores = await self._cohere.rerank(part.text, texts, self._model, deadline)
        relevance = dict(zip(found, scores, strict=True))
        order = sorted(range(len(passages)), key=lambda i: -relevance.get(i, 1.0))
        read = await self._reader.assess(part, [passages[i] for i in order], deadline)
        readings = dict(zip(order, read.readings, strict=True))
        return replace(
            read,
            readings=tuple(
                readings[i].scaled_to(relevance[i]) if i in relevance else readings[i] for i in range(len(passages))
            ),
        )

    async def close(self) -> None:
        await self._cohere.close()
