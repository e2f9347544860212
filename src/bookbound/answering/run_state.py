"""Collects sentences, timings and search results while one question is answered."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import dataclass, field, replace

from bookbound.domain.errors import InvalidInputError
from bookbound.domain.judgement import Judgement, RefusalReason
from bookbound.domain.question import Deadline, Question, Retrieval
from bookbound.domain.reply import AnswerSentence, WriterEvent
from bookbound.domain.trace import StageClock, TokenUsage, Trace

NOTHING_FOUND = Judgement(0.0, (), (), "Poor", RefusalReason.EMPTY_RETRIEVAL)
OFF_TOPIC = Judgement(0.0, (), (), "Poor", RefusalReason.LOW_RELEVANCE)


@dataclass(slots=True)
class RunState:
    """A question on its way to a reply: its deadline and clock, and the supported sentences so far.

    `has_draft` says whether a sentence was written, supported or not. `quotable` are the passages with what goes on
    next to them, and the judgement whose evidence is in these.
    """

    question: Question
    deadline: Deadline
    clock: StageClock
    writer: str
    can_refuse: bool = False
    searches_parts: bool = True
    sentences: list[AnswerSentence] = field(default_factory=list)
    usage: TokenUsage = field(default_factory=TokenUsage)
    tool_calls: tuple[str, ...] = ()
    is_missing_part: bool = False
    has_draft: bool = False
    degraded: bool = False
    quotable: tuple[Retrieval, Judgement] | None = None
    note: str = ""
    completed_question: str = ""

    def reword(self, text: str) -> None:
        """Replaces the text of the question by what it means."""
        if text != self.question.text:
            self.question, self.completed_question = replace(self.question, text=text), text

    async def note_draft(self, draft: AsyncGenerator[WriterEvent]) -> AsyncGenerator[WriterEvent]:
        """Yields the events of a draft, and notes whether it has a sentence."""
        async with aclosing(draft):
            async for event in draft:
                self.has_draft |= isinstance(event, AnswerSentence)
                yield event

    def build_trace(self, retrieval: Retrieval, generation: str, edition: str, embedder: str) -> Trace:
        """Returns how the reply was made, from these passages of this generation and edition of the book."""
        return Trace(
            retrieval=retrieval,
            generation=generation,
            embedder=embedder,
            writer=self.writer,
            stages=self.clock.stages,
            usage=self.usage,
            tool_calls=self.tool_calls,
            degraded=self.degraded,
            edition=edition,
            completed_question=self.completed_question,
            note=self.note,
        )


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


def rephrase_question(question: Question, query: str, k: int) -> Question:
    """Returns the question in an agent's words, or the reader's question if those are invalid."""
    try:
        return replace(question, text=query, k=k)
    except InvalidInputError:
        return question
