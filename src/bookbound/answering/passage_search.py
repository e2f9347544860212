"""Searches the book and the reader's selection for one question."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from bookbound.answering.selection import locate_selection
from bookbound.domain.chunk import Chunk, Passage
from bookbound.domain.ports import Embedder, Index
from bookbound.domain.question import MAX_PASSAGES, AnswerScope, Deadline, Question, Retrieval, Understanding
from bookbound.domain.trace import StageClock

if TYPE_CHECKING:
    from bookbound.domain.ports import Vectors


class PassageSearch:
    """Finds the passages an answer may rest on: the selection, the best of the book, or both.

    Every text is embedded and searched once, and the selection is located once.
    """

    def __init__(
        self, question: Question, index: Index, embedder: Embedder, deadline: Deadline, clock: StageClock
    ) -> None:
        self._question, self._index, self._embedder = question, index, embedder
        self._deadline, self._clock = deadline, clock
        self._vectors: dict[str, Vectors] = {}
        self._found: dict[str, Retrieval] = {}
        self._selected: Chunk | None = None

    async def find(self, text: str) -> Retrieval:
        """Returns the passages for a text; of the book always `MAX_PASSAGES`, because only reading decides the best."""
        if text not in self._found:
            self._found[text] = await self._search(text)
        return self._found[text]

    async def find_parts(self, understanding: Understanding) -> list[Retrieval]:
        """Returns the passages for each part of a question."""
        return [await self.find(part.text) for part in understanding.parts]

    async def compare(self, one: str, other: str) -> float:
        """Returns the similarity of two phrases."""
        return float(await self._embed(one) @ await self._embed(other))

    async def _search(self, text: str) -> Retrieval:
        vector, scope = await self._embed(text), self._question.scope
        selected = await self._locate() if self._question.selection else None
        passages: Sequence[Passage] = ()
        if selected and scope is not AnswerScope.BOOK:
            similarity = float(vector @ await self._embed(selected.text))
            passages = (Passage(selected, max(0.0, similarity)),)
        if scope is not AnswerScope.SELECTION:
            with self._clock.measure("search"):
                passages = (*passages, *await self._index.search(text, vector, MAX_PASSAGES, self._deadline))
        scored = (replace(each, score=self._embedder.score_similarity(each.score)) for each in passages)
        return Retrieval(tuple(scored), selected.place if selected and selected.place.file else None)

    async def _locate(self) -> Chunk:
        if self._selected is None:
            with self._clock.measure("search"):
                self._selected = await locate_selection(self._question.selection or "", self._index, self._deadline)
        return self._selected

    async def _embed(self, text: str) -> Vectors:
        if text not in self._vectors:
            with self._clock.measure("embed"):
                self._vectors[text] = await self._embedder.embed_question(text, self._deadline)
        return self._vectors[text]
