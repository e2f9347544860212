"""What is done and found for one question, as it adds up."""

from __future__ import annotations

from dataclasses import replace
from time import perf_counter

from bookbound.dialogue import Retrieval, Sentence, Usage
from bookbound.finding import Judgement


class Found:
    """What an agent's searches found, taken together: the judgement is that of the best of them."""

    def __init__(self) -> None:
        self._retrievals: list[Retrieval] = []
        self._judgements: list[Judgement] = []

    def __bool__(self) -> bool:
        return bool(self._retrievals)

    def add(self, retrieval: Retrieval, judgement: Judgement) -> None:
        self._retrievals.append(retrieval)
        self._judgements.append(judgement)

    @property
    def judgement(self) -> Judgement:
        return max(self._judgements, key=lambda each: (each.answer_present, each.probability))

    @property
    def retrieval(self) -> Retrieval:
        """Every passage that was found, each once, with the times of all searches."""
        passages = {passage.chunk.id: passage for found in self._retrievals for passage in found.passages}
        return replace(
            self._retrievals[0],
            passages=tuple(passages.values()),
            embed_ms=sum(found.embed_ms for found in self._retrievals),
            search_ms=sum(found.search_ms for found in self._retrievals),
        )


class Work:
    """What has been done for a question so far: the sentences that hold, who wrote them, and what it took."""

    def __init__(self, writer: str) -> None:
        self.writer = writer
        self.sentences: list[Sentence] = []
        self.usage, self.degraded = Usage(), False
        self.tools: tuple[str, ...] = ()
        self.milliseconds: dict[str, float] = {}
        self._last = perf_counter()

    def lap(self, name: str) -> None:
        now = perf_counter()
        self.milliseconds[name] = self.milliseconds.get(name, 0.0) + (now - self._last) * 1000
        self._last = now
