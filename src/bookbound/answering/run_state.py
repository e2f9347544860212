"""Keeps what one question needs on its way to a reply, and what was written for it."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import dataclass, field

from bookbound.answering.passage_search import PassageSearch
from bookbound.domain.question import Deadline, Question
from bookbound.domain.reply import AnswerSentence, MissingPart, WriterEvent
from bookbound.domain.trace import StageClock, TokenUsage


@dataclass(slots=True)
class Draft:
    """What a writer wrote: the supported sentences, how many it drafted, and what it said about them.

    `can_refuse`: the writer read the passages and may find that they do not answer. `is_degraded`: a language model
    failed to write the answer, or to finish it.
    """

    writer: str
    can_refuse: bool = False
    sentences: list[AnswerSentence] = field(default_factory=list)
    drafted: int = 0
    usage: TokenUsage = field(default_factory=TokenUsage)
    is_missing_part: bool = False
    is_degraded: bool = False

    async def count_sentences(self, events: AsyncGenerator[WriterEvent]) -> AsyncGenerator[WriterEvent]:
        """Yields the events of a writer and counts its sentences, supported or not."""
        async with aclosing(events):
            async for event in events:
                self.drafted += isinstance(event, AnswerSentence)
                yield event

    def add(self, event: WriterEvent) -> AnswerSentence | None:
        """Adds an event that passed the verifier, and returns it if it is a sentence."""
        if isinstance(event, TokenUsage):
            self.usage += event
        elif isinstance(event, MissingPart):
            self.is_missing_part = True
        else:
            self.sentences.append(event)
            return event
        return None


@dataclass(slots=True)
class RunState:
    """A question as the reader asked it, and what all steps of its answer share."""

    question: Question
    deadline: Deadline
    clock: StageClock
    search: PassageSearch
    tool_calls: tuple[str, ...] = ()
