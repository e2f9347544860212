"""An examiner that lets Cohere's rerank say which passages matter, and reads those by itself."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from bookbound.book import Passage
from bookbound.dialogue import SELECTION_ID
from bookbound.finding import Examination, Reading
from bookbound.judge.pointing import pointed
from bookbound.models.cohere import Cohere
from bookbound.ports import Examiner

MODEL = "rerank-v3.5"


class RerankExaminer:
    """Puts the passages of the book in Cohere's order and has another examiner read them in it.

    A passage's probability is the relevance that Cohere gives it. How probably the question is answered, and with
    which words, is the reader's: a rerank compares passages with each other and says nothing of either. So an answer
    needs both: a passage that Cohere finds relevant, and words in it that the reader finds to answer.

    What the reader chose is not compared: a selection keeps the reading it has, a question that only points at it
    is not sent, and nothing is where there is nothing of the book to put in order. When Cohere fails, so does this.
    """

    def __init__(self, cohere: Cohere, reader: Examiner, model: str = MODEL) -> None:
        self._cohere = cohere
        self._reader = reader
        self._model = model

    async def examine(self, question: str, passages: Sequence[Passage]) -> Examination:
        found = [i for i, passage in enumerate(passages) if passage.chunk.id != SELECTION_ID]
        if not found or pointed(question, passages):
            return await self._reader.examine(question, passages)
        texts = [passages[i].chunk.embedded for i in found]
        relevance = dict(zip(found, await self._cohere.rerank(question, texts, self._model), strict=True))
        order = sorted(range(len(passages)), key=lambda i: -relevance.get(i, 1.0))
        read = await self._reader.examine(question, [passages[i] for i in order])
        readings = dict(zip(order, read.readings, strict=True))
        return replace(read, readings=tuple(_weighed(readings[i], relevance.get(i)) for i in range(len(passages))))

    async def close(self) -> None:
        await self._cohere.close()


def _weighed(reading: Reading, relevance: float | None) -> Reading:
    """A reading as probable as it is relevant, its words with the same shares of that."""
    if relevance is None:
        return reading
    share = relevance / reading.probability if reading.probability else 0.0
    return Reading(relevance, tuple(replace(span, probability=span.probability * share) for span in reading.spans))
