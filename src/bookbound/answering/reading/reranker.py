"""Orders passages by Cohere's rerank before another assessor reads them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from bookbound.answering.reading.answerability import assess_deictic_question
from bookbound.domain.chunk import Passage
from bookbound.domain.judgement import Assessment, PassageAssessment
from bookbound.domain.ports import AnswerabilityModel
from bookbound.domain.question import SELECTION_CHUNK_ID
from bookbound.models.cohere import CohereClient

RERANK_MODEL = "rerank-v3.5"


class CohereRerankAssessor:
    """Puts the passages of the book in Cohere's order and has another examiner read them in it.

    A passage's probability is the relevance that Cohere gives it. How probably the question is answered, and with
    which words, is the reader's: a rerank compares passages with each other and says nothing of either. So an answer
    needs both: a passage that Cohere finds relevant, and words in it that the reader finds to answer.

    What the reader chose is not compared: a selection keeps the reading it has, a question that only points at it
    is not sent, and nothing is where there is nothing of the book to put in order. When Cohere fails, so does this.
    """

    def __init__(self, cohere: CohereClient, reader: AnswerabilityModel, model: str = RERANK_MODEL) -> None:
        self._cohere = cohere
        self._reader = reader
        self._model = model

    async def examine(self, question: str, passages: Sequence[Passage]) -> Assessment:
        found = [i for i, passage in enumerate(passages) if passage.chunk.id != SELECTION_CHUNK_ID]
        if not found or assess_deictic_question(question, passages):
            return await self._reader.examine(question, passages)
        texts = [passages[i].chunk.embedded for i in found]
        relevance = dict(zip(found, await self._cohere.rerank(question, texts, self._model), strict=True))
        order = sorted(range(len(passages)), key=lambda i: -relevance.get(i, 1.0))
        read = await self._reader.examine(question, [passages[i] for i in order])
        readings = dict(zip(order, read.readings, strict=True))
        return replace(
            read, readings=tuple(_apply_relevance(readings[i], relevance.get(i)) for i in range(len(passages)))
        )

    async def close(self) -> None:
        await self._cohere.close()


def _apply_relevance(reading: PassageAssessment, relevance: float | None) -> PassageAssessment:
    """A reading as probable as it is relevant, its words with the same shares of that."""
    if relevance is None:
        return reading
    share = relevance / reading.probability if reading.probability else 0.0
    return PassageAssessment(
        relevance, tuple(replace(span, probability=span.probability * share) for span in reading.spans)
    )
