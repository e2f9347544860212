"""Runs the steps that turn a question into a verified answer, an unsure reply or a refusal."""

from __future__ import annotations

import logging
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace

from bookbound.answering.about_book import answer_about_book, reply_to_small_talk
from bookbound.answering.engine import Engine, OpenBook
from bookbound.answering.judging import AgentSearches, Judging, PassageSearch, RunState, read_parts
from bookbound.answering.reply_builder import Draft, Findings, build_reply, keep_supported
from bookbound.answering.understanding import understand, understand_part
from bookbound.answering.understanding.follow_up import ask_after_label, complete_follow_up
from bookbound.answering.writers.quotes.neighbour_chunks import join_neighbours
from bookbound.answering.writers.quotes.quote_writer import QuoteWriter
from bookbound.domain.errors import InvalidInputError, ServiceError
from bookbound.domain.ports import PassageFormatter
from bookbound.domain.question import (
    SELECTION_CHUNK_ID,
    CompletedQuestion,
    Deadline,
    Question,
    QuestionKind,
    Retrieval,
    Understanding,
)
from bookbound.domain.reply import Answer, AnswerSentence, PipelineEvent, Reply, WriterEvent
from bookbound.domain.trace import StageClock, Trace

log = logging.getLogger("bookbound.answering.pipeline")
# Enough to compare two ways to complete a follow-up; the whole answer is read later.
QUICK_PASSAGES = 4


@dataclass(frozen=True, slots=True)
class Pipeline:
    """Answers questions about one book with one engine; the caller's clock also has the timings of a failure."""

    engine: Engine
    book: OpenBook

    async def candidates(self, question: Question) -> Retrieval:
        """Returns what the search alone finds: more passages than the question asks for, in its own order."""
        return await self._start(question).search.find(question.text)

    async def search(self, question: Question, clock: StageClock | None = None) -> Retrieval:
        """Returns the passages alone, those that answer best first, without a judgement."""
        run, understanding = self._start(question, clock), understand(question)
        found = await run.search.find_parts(understanding)
        return (await read_parts(self.engine.assessor, understanding, found, run))[0]

    async def ask(
        self,
        question: Question,
        clock: StageClock | None = None,
        on_event: Callable[[PipelineEvent], None] | None = None,
    ) -> Reply:
        """Returns the reply; `on_event` gets each event as it happens."""
        async with aclosing(self.steps(question, clock)) as steps:
            async for step in steps:
                if on_event:
                    on_event(step)
                if isinstance(step, Reply):
                    return step
        raise AssertionError("every question ends in a reply")

    async def steps(self, question: Question, clock: StageClock | None = None) -> AsyncGenerator[PipelineEvent]:
        """Yields the passages, the judgement, each supported sentence and the reply, as soon as each is known.

        If the question is a follow-up, or points at a selected label, it is completed first, and the completed question
        comes before all others.
        """
        run = self._start(question, clock)
        understanding = await self._understand(run)
        if understanding.completed_from:
            yield CompletedQuestion(understanding.text)
        found = await self._reply_unread(understanding, run)
        found = found or await Judging(self.engine, self.book).judge_as_meant(understanding, run)
        yield found.retrieval
        yield found.judgement
        draft = self._begin_draft(found)
        for sentence in found.sentences:
            yield sentence
        quotable = found
        if found.understanding.kind is QuestionKind.QUESTION and found.may_answer:
            joined = await join_neighbours(found.retrieval, found.judgement, self.book.index, run.deadline)
            quotable = replace(found, retrieval=joined[0], judgement=joined[1])
            async with aclosing(self._write(quotable, draft, run)) as sentences:
                async for sentence in sentences:
                    yield sentence
        yield await self._build_reply(found, quotable, draft, run)

    async def converse(
        self, question: Question, format_passages: PassageFormatter, *, must_search: bool = True
    ) -> Reply:
        """Answers through an agent that searches by itself and reads of the book what `format_passages` returns.

        What it finds is judged by the reader's question, and scores at most what that question itself finds. An agent
        that never searched found nothing. Without an agent this is `ask`.
        """
        agent = self.engine.agent
        if agent is None:
            return await self.ask(question)
        run, understanding = self._start(question), understand(question, self.book.index.manifest.title)
        if unread := await self._reply_unread(understanding, run):
            return await self._build_reply(unread, unread, self._begin_draft(unread), run)
        understanding = understanding.as_question()  # the outline did not tell what it asks about the book
        draft = Draft(agent.name, can_refuse=True)
        searches = AgentSearches(await run.search.find(question.text))

        async def search(query: str, k: int) -> tuple[Retrieval, Sequence[str]]:
            try:
                rephrased = replace(question, text=query, k=k)
            except InvalidInputError:
                rephrased = question  # the agent's words are no question
            candidates = searches.cap_scores(await run.search.find(rephrased.text))
            meant = replace(understanding, question=replace(question, k=rephrased.k))
            found = await Judging(self.engine, self.book).judge(meant, [candidates] * len(meant.parts), run)
            texts = format_passages(found.retrieval) if found.may_answer else ()
            searches.add(found, is_withheld=not texts)
            return found.retrieval, texts

        events = agent.converse(question, search, run.deadline, must_search=must_search)
        async with aclosing(self._verify(events, draft, run)) as sentences:
            async for _ in sentences:
                pass
        if not searches:
            draft.sentences.clear()
        found = searches.combine(understanding)
        return await self._build_reply(found, found, draft, run)

    async def close(self) -> None:
        await self.book.close()
        await self.engine.close()

    def _start(self, question: Question, clock: StageClock | None = None) -> RunState:
        engine, deadline, clock = self.engine, Deadline.after(self.engine.answer_seconds), clock or StageClock()
        search = PassageSearch(question, self.book.index, engine.embedder, deadline, clock)
        return RunState(question, deadline, clock, search)

    def _begin_draft(self, found: Findings) -> Draft:
        writer = QuoteWriter.name if found.sentences else self.engine.writer.name
        return Draft(writer, sentences=[*found.sentences])

    async def _understand(self, run: RunState) -> Understanding:
        """Completes a follow-up, and reads from the words of the question what is meant."""

        async def estimate(text: str) -> float:
            """Returns how probable it is that the book answers, after a quick look at the best passages."""
            assessor = self.engine.quick_assessor or self.engine.assessor
            found = (await run.search.find(text)).passages
            # A label that the question points at has become a part of its words.
            passages = [each for each in found if each.chunk.id != SELECTION_CHUNK_ID][:QUICK_PASSAGES]
            with run.clock.measure("judge"):
                return (await assessor.assess(understand_part(text), passages, run.deadline)).probability

        asked, title = run.question, self.book.index.manifest.title
        follow_up = ask_after_label(asked) if asked.selection else asked
        if follow_up.conversation and (completed := await complete_follow_up(follow_up, run.search.compare, estimate)):
            return understand(replace(asked, text=completed), title, completed_from=asked.text)
        return understand(asked, title)

    async def _reply_unread(self, understanding: Understanding, run: RunState) -> Findings | None:
        """Replies to what no passage has to be read for: questions about the book itself, and small talk."""
        if understanding.book_question:
            with run.clock.measure("search"):
                return await answer_about_book(understanding, self.book.index, run.deadline)
        if understanding.small_talk is None:
            return None
        return reply_to_small_talk(understanding, self.book.index.manifest, await run.search.find(understanding.text))

    async def _write(self, found: Findings, draft: Draft, run: RunState) -> AsyncGenerator[AnswerSentence]:
        """Yields each supported sentence; if the writer fails before the first one, the fallback writer writes."""
        fallback = self.engine.fallback_writer if run.question.allow_fallback else None
        for writer in filter(None, (self.engine.writer, fallback)):
            if found.judgement.is_unsure and not writer.can_refuse:
                return  # quotes would claim to be the answer
            draft.writer, draft.can_refuse = writer.name, writer.can_refuse
            events = writer.write(found.understanding, found.retrieval.passages, found.judgement, run.deadline)
            try:
                async with aclosing(self._verify(events, draft, run)) as sentences:
                    async for sentence in sentences:
                        yield sentence
                return
            except ServiceError as error:
                if writer is fallback or not fallback:
                    raise
                log.warning("The answer quotes the book or is cut short because the language model failed: %s", error)
                draft.is_degraded = True
            if draft.sentences:
                return

    async def _verify(
        self, events: AsyncGenerator[WriterEvent], draft: Draft, run: RunState
    ) -> AsyncGenerator[AnswerSentence]:
        counted = draft.count_sentences(events)
        async with aclosing(keep_supported(counted, self.engine.verifier, run.clock)) as supported:
            async for event in supported:
                if sentence := draft.add(event):
                    yield sentence

    async def _build_reply(self, found: Findings, quotable: Findings, draft: Draft, run: RunState) -> Reply:
        book, manifest, understanding = self.book, self.book.index.manifest, found.understanding
        trace = Trace(
            retrieval=found.retrieval,
            generation=manifest.generation,
            embedder=self.engine.embedder.name,
            writer=draft.writer,
            stages=run.clock.stages,
            usage=draft.usage,
            tool_calls=run.tool_calls,
            degraded=draft.is_degraded,
            edition=book.edition,
            completed_question=understanding.text if understanding.text != run.question.text else "",
            question_kind=understanding.kind,
            note=found.note,
            book_title=manifest.title,
        )
        reply = build_reply(found, quotable, draft, trace)
        differing: tuple[str, ...] = ()
        if book.other_editions and isinstance(reply, Answer) and understanding.kind is QuestionKind.QUESTION:
            differing = await book.other_editions.find_differing(reply.citations, run.deadline)
        trace = replace(trace, differing_editions=differing, total_seconds=run.clock.elapsed_seconds)
        return replace(reply, trace=trace)
