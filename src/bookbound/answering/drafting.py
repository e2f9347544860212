"""Has a language model draft an answer and verifies each sentence, or quotes the book."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace
from math import inf

from bookbound.answering.draft import Draft
from bookbound.answering.engine import Engine
from bookbound.answering.judging import RunState
from bookbound.answering.read_ahead import read_ahead
from bookbound.answering.reply_builder import Findings
from bookbound.domain.chunk import Passage
from bookbound.domain.errors import ServiceError
from bookbound.domain.judgement import SentenceSupport, SupportLabel
from bookbound.domain.ports import AnswerModel
from bookbound.domain.question import Understanding
from bookbound.domain.reply import AnswerSentence, Progress, Restart, WriterEvent

log = logging.getLogger("bookbound.answering.drafting")
_LABELS = tuple(SupportLabel)


@dataclass(frozen=True, slots=True)
class Drafting:
    """Writes the answer to one question; what it finds out about the sentences is in `draft`.

    `found` has what the local reader judged, and `quotable` the same with what goes on in the chunks next to it.
    """

    engine: Engine
    draft: Draft
    found: Findings
    quotable: Findings
    run: RunState

    async def write(self) -> AsyncGenerator[Progress | AnswerSentence]:
        """Yields each sentence as soon as it is certain that a reader sees it."""
        judgement = self.found.judgement
        if self.engine.model and not judgement.is_off_topic:
            async with aclosing(self._ask_model(self.engine.model)) as events:
                async for event in events:
                    yield event
            if self.draft.shown or self.draft.is_denied:
                return
        if judgement.answer_present:
            async with aclosing(self.quote()) as quotes:
                async for quote in quotes:
                    yield quote

    async def quote(self) -> AsyncGenerator[AnswerSentence]:
        """Yields the book's own words, which are the draft from now on."""
        passages, judgement = self.quotable.retrieval.passages, self.quotable.judgement
        events = self.engine.quotes.write(self.found.understanding, passages, judgement, self.run.deadline)
        async with aclosing(self.verify(events)) as verified:
            async for event in verified:
                if isinstance(event, AnswerSentence) and event.is_verified:
                    self.draft.quotes.append(event)
                    yield event

    async def verify(self, events: AsyncGenerator[WriterEvent]) -> AsyncGenerator[WriterEvent]:
        """Yields what a writer yields, each sentence with its label and the words that support it best.

        Sentences are verified one at a time, because each takes all threads.
        """
        async with aclosing(events):
            while True:
                with self.run.clock.measure("write"):
                    event = await anext(events, None)
                if event is None:
                    return
                yield await self._verify(event) if isinstance(event, AnswerSentence) else event

    async def revise(self, passages: Sequence[Passage]) -> None:
        """Has the model say again what the book does not support so; new words that are less sure do not count."""
        model, draft, unproved = self.engine.model, self.draft, self.draft.unproved
        if not model or not unproved:
            return
        with self.run.clock.measure("write"):
            revised, usage = await model.revise(self.found.understanding, passages, unproved, self.run.deadline)
        draft.usage += usage
        chosen: list[AnswerSentence | None] = []
        for old, new in zip(unproved, revised, strict=True):
            if new is not None and new is not old:
                new = await self._verify(new)
                new = min(new, old, key=lambda each: _LABELS.index(each.label))
            chosen.append(new)
        draft.revise(unproved, chosen)

    async def _ask_model(self, model: AnswerModel) -> AsyncGenerator[Progress | AnswerSentence]:
        draft, judgement, understanding = self.draft, self.found.judgement, self.found.understanding
        is_sure = judgement.answer_present
        passages = self.quotable.retrieval.passages if is_sure else self.found.candidates
        yield Progress.WRITING
        sent = 0
        try:
            events = model.write(understanding, passages, judgement, self.run.deadline)
            # The model goes on while a sentence is verified; quotes are there at once.
            async with aclosing(self.verify(read_ahead(events))) as verified:
                async for event in verified:
                    draft.add(event)
                    sent = 0 if isinstance(event, Restart) else sent
                    # What may be withheld as a whole, or has to be translated, is not certain before its end.
                    if is_sure and not understanding.reader_language:
                        for sentence in draft.certain[sent:]:
                            sent += 1
                            yield sentence
            if draft.unproved:
                yield Progress.REVISING
                await self.revise(passages)
        except ServiceError as error:
            self._degrade(error)
        draft.settle(may_open_unverified=is_sure)
        if understanding.reader_language and draft.is_by_model:
            yield Progress.TRANSLATING
            await self._translate(model, understanding)
        for sentence in draft.shown[sent:]:
            yield sentence

    async def _translate(self, model: AnswerModel, understanding: Understanding) -> None:
        texts = list(dict.fromkeys(each.text for each in self.draft.shown if each.kind != "code"))
        languages = understanding.book_language, understanding.reader_language
        try:
            with self.run.clock.measure("write"):
                translated, usage = await model.translate(texts, *languages, self.run.deadline)
        except ServiceError as error:
            self._degrade(error)
            return
        self.draft.usage += usage
        self.draft.translate(dict(zip(texts, translated, strict=True)))

    async def _verify(self, sentence: AnswerSentence) -> AnswerSentence:
        if not sentence.makes_claim:
            return sentence
        try:
            with self.run.clock.measure("verify"):
                # A quote is verified without a network, also if the model took all the time.
                async with asyncio.timeout(self.run.deadline.limit(inf) if sentence.form else None):
                    support = await self.engine.verifier.verify(sentence)
        except TimeoutError:
            support = SentenceSupport(SupportLabel.UNVERIFIED, 0.0, sentence.evidence[:1])
        return replace(sentence, evidence=support.evidence, support=support.probability, label=support.label)

    def _degrade(self, error: ServiceError) -> None:
        """Goes on with what there is, unless the caller wants to know that the model failed."""
        if not (self.run.question.allow_fallback and self.engine.quotes_on_failure):
            raise error
        log.warning("The answer quotes the book or is cut short because the language model failed: %s", error)
        self.draft.is_degraded = True
