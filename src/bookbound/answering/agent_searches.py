"""Collects what an agent finds when it searches the book by itself."""

from __future__ import annotations

from dataclasses import replace

from bookbound.domain.judgement import Judgement, RefusalReason
from bookbound.domain.question import Retrieval

NOTHING_FOUND = Judgement(0.0, (), (), "Poor", RefusalReason.EMPTY_RETRIEVAL)


class AgentSearches:
    """Everything that an agent's searches found; the judgement is that of the best search."""

    def __init__(self, question_retrieval: Retrieval) -> None:
        self._best_score = max((passage.score for passage in question_retrieval.passages), default=0.0)
        self._retrievals: list[Retrieval] = []
        self._judgements: list[Judgement] = []

    def __bool__(self) -> bool:
        return bool(self._retrievals)

    def cap_scores(self, found: Retrieval) -> Retrieval:
        """Limits the scores to the best that the reader's own question reached.

        A query that copies the book is very similar to it, and that says nothing about the question.
        """
        passages = (replace(passage, score=min(passage.score, self._best_score)) for passage in found.passages)
        return replace(found, passages=tuple(passages))

    def add(self, retrieval: Retrieval, judgement: Judgement, *, is_withheld: bool) -> None:
        """Adds the result of a search; without anything that the agent may read, it counts as a refusal."""
        if is_withheld and (judgement.answer_present or judgement.is_unsure):
            judgement = replace(judgement, refusal=RefusalReason.LOW_RELEVANCE, is_unsure=False)
        self._retrievals.append(retrieval)
        self._judgements.append(judgement)

    @property
    def judgement(self) -> Judgement:
        def rank(judgement: Judgement) -> tuple[bool, bool, float]:
            return judgement.answer_present, judgement.is_unsure, judgement.probability

        return max(self._judgements, key=rank, default=NOTHING_FOUND)

    @property
    def retrieval(self) -> Retrieval:
        """Every passage that was found, each once."""
        passages = {passage.chunk.id: passage for found in self._retrievals for passage in found.passages}
        return Retrieval(tuple(passages.values()), next((found.selection for found in self._retrievals), None))
