"""Collects sentences, timings and search results while one question is answered."""

from __future__ import annotations

from dataclasses import replace
from time import perf_counter

from bookbound.domain.errors import InvalidInputError
from bookbound.domain.judgement import Judgement, RefusalReason
from bookbound.domain.question import Question, Retrieval
from bookbound.domain.reply import AnswerSentence, TokenUsage

NOTHING_FOUND = Judgement(0.0, (), (), "Poor", RefusalReason.EMPTY_RETRIEVAL)


class AgentSearches:
    """What an agent's searches found, taken together: the judgement is that of the best of them.

    `own` is what the reader's question finds by itself. Without a search nothing was found.
    """

    def __init__(self, own: Retrieval) -> None:
        self._nearest = max((passage.score for passage in own.passages), default=0.0)
        self._retrievals: list[Retrieval] = []
        self._judgements: list[Judgement] = []

    def __bool__(self) -> bool:
        return bool(self._retrievals)

    def no_nearer(self, found: Retrieval) -> Retrieval:
        """What an agent's words found, none of it more similar than the best for the reader's own.

        Words that copy the book are as similar to it as can be, and that says nothing about the question.
        """
        passages = (replace(passage, score=min(passage.score, self._nearest)) for passage in found.passages)
        return replace(found, passages=tuple(passages))

    def add(self, retrieval: Retrieval, judgement: Judgement, *, withheld: bool) -> None:
        """Keep what a search found; what is withheld from the agent is nothing to answer from."""
        refusal = judgement.refusal or (RefusalReason.LOW_RELEVANCE if withheld else None)
        self._retrievals.append(retrieval)
        self._judgements.append(replace(judgement, refusal=refusal))

    @property
    def judgement(self) -> Judgement:
        return max(self._judgements, key=lambda each: (each.answer_present, each.probability), default=NOTHING_FOUND)

    @property
    def retrieval(self) -> Retrieval:
        """Every passage that was found, each once, with the times of all searches."""
        passages = {passage.chunk.id: passage for found in self._retrievals for passage in found.passages}
        return Retrieval(
            passages=tuple(passages.values()),
            selection=next((found.selection for found in self._retrievals), None),
            embed_ms=sum(found.embed_ms for found in self._retrievals),
            search_ms=sum(found.search_ms for found in self._retrievals),
        )


class RunState:
    """What has been done for a question so far: the sentences that hold, who wrote them, and what it took."""

    def __init__(self, writer: str, reads: bool = False) -> None:
        self.writer, self.reads = writer, reads
        self.sentences: list[AnswerSentence] = []
        self.usage, self.missing, self.degraded = TokenUsage(), False, False
        self.tools: tuple[str, ...] = ()
        self.milliseconds: dict[str, float] = {}
        self._last = perf_counter()

    def lap(self, name: str) -> None:
        now = perf_counter()
        self.milliseconds[name] = self.milliseconds.get(name, 0.0) + (now - self._last) * 1000
        self._last = now


def rephrase_question(question: Question, query: str, k: int) -> Question:
    """The question in an agent's words; where those are no question at all, in the reader's own."""
    try:
        return replace(question, text=query, k=k)
    except InvalidInputError:
        return question
