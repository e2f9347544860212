"""Runs the steps that turn a question into a verified answer, an unsure reply or a refusal."""

from __future__ import annotations

import logging
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace
from functools import partial

from bookbound.answering.about_book import answer_about_book
from bookbound.answering.decision import build_reply, decide, rank_passages
from bookbound.answering.engine import Engine, OpenBook
from bookbound.answering.follow_up import complete_follow_up
from bookbound.answering.grounding.supported_sentences import keep_supported
from bookbound.answering.question_wording import SpellingCorrector, judge_as_meant
from bookbound.answering.reading.covering_block import prefer_comparison_table, prefer_covering_block
from bookbound.answering.reading.named_section import prefer_named_words
from bookbound.answering.reading.question_parts import merge_part_readings, split_question
from bookbound.answering.run_state import AgentSearches, RunState, rephrase_question
from bookbound.answering.selection import ask_after_label, locate_selection
from bookbound.answering.small_talk import reply_to_small_talk
from bookbound.answering.writers.quotes.neighbour_chunks import join_neighbours
from bookbound.domain.chunk import Passage
from bookbound.domain.errors import ServiceError
from bookbound.domain.judgement import Assessment, Judgement
from bookbound.domain.ports import PassageFormatter
from bookbound.domain.question import MAX_PASSAGES, AnswerScope, Deadline, Question, Retrieval
from bookbound.domain.reply import (
    SEARCH_TOOL_NAME,
    Answer,
    AnswerSentence,
    MissingPart,
    PipelineEvent,
    Reply,
    WriterEvent,
)
from bookbound.domain.trace import StageClock, TokenUsage

log = logging.getLogger("bookbound.answering.pipeline")
QUICK_PASSAGES = 4


@dataclass(frozen=True, slots=True)
class Pipeline:
    """Answers questions about one book with one engine; the caller's clock also has the timings of a failure."""

    engine: Engine
    book: OpenBook

    async def candidates(self, question: Question) -> Retrieval:
        """Returns what the search alone finds: more passages than the question asks for, in its own order."""
        return await self._retrieve(question, self._start(question))

    async def search(self, question: Question, clock: StageClock | None = None) -> Retrieval:
        """Returns the passages alone, those that answer best first, without a judgement."""
        run = self._start(question, clock)
        return (await self._read(question, await self._retrieve(question, run), run))[0]

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
        asked = ask_after_label(question) if question.selection else question
        if completed := await complete_follow_up(asked, partial(self._compare, run), partial(self._estimate, run)):
            run.reword(completed.text)
            yield completed
        corrector = SpellingCorrector(self.book.index, self.engine.embedder, run.deadline)
        unread = await self._reply_unread(run)
        retrieval, judgement = unread or await judge_as_meant(run, corrector, self._search_and_judge)
        yield retrieval
        yield judgement
        for ready in run.sentences:
            yield ready
        if not run.note and (judgement.answer_present or judgement.is_unsure):
            run.quotable = await join_neighbours(retrieval, judgement, self.book.index, run.deadline)
            async with aclosing(self._write(*run.quotable, run)) as sentences:
                async for sentence in sentences:
                    yield sentence
        yield await self._build_reply(retrieval, judgement, run)

    async def converse(
        self, question: Question, format_passages: PassageFormatter, *, must_search: bool = True
    ) -> Reply:
        """Answers through an agent that searches by itself and reads of the book what `format_passages` returns.

        What it finds is judged by the reader's question, and scores at most what that question itself finds. An agent
        that never searched found nothing. Without an agent this is `ask`.
        """
        engine = self.engine
        if engine.agent is None:
            return await self.ask(question)
        run = self._start(question)
        if unread := await self._reply_unread(run):
            return await self._build_reply(*unread, run)
        run.writer, run.can_refuse, run.searches_parts = engine.agent.name, True, False
        searches = AgentSearches(await self._retrieve(question, run))

        async def search(query: str, k: int) -> tuple[Retrieval, Sequence[str]]:
            rephrased = rephrase_question(question, query, k)
            candidates = searches.cap_scores(await self._retrieve(rephrased, run))
            retrieval, judgement = await self._judge(replace(question, k=rephrased.k), candidates, run)
            texts = format_passages(retrieval) if judgement.answer_present or judgement.is_unsure else ()
            searches.add(retrieval, judgement, is_withheld=not texts)
            return retrieval, texts

        draft = engine.agent.converse(question, search, run.deadline, must_search=must_search)
        async with aclosing(self._verify(draft, run)) as sentences:
            async for _ in sentences:
                pass
        if not searches:
            run.sentences.clear()
        return await self._build_reply(searches.retrieval, searches.judgement, run)

    async def close(self) -> None:
        await self.book.close()
        await self.engine.close()

    def _start(self, question: Question, clock: StageClock | None = None) -> RunState:
        engine = self.engine
        return RunState(question, Deadline.after(engine.answer_seconds), clock or StageClock(), engine.writer.name)

    async def _reply_unread(self, run: RunState) -> tuple[Retrieval, Judgement] | None:
        """Replies to what no passage has to be read for: questions about the book itself, and small talk."""
        index = self.book.index
        return await answer_about_book(index, run) or await reply_to_small_talk(index, run, self._retrieve)

    async def _search_and_judge(self, question: Question, run: RunState) -> tuple[Retrieval, Judgement]:
        return await self._judge(question, await self._retrieve(question, run), run)

    async def _retrieve(self, question: Question, run: RunState) -> Retrieval:
        """Returns the passages an answer may rest on: the selection, the best of the book, or both.

        The book always gives `MAX_PASSAGES`, because only reading them decides which are the best.
        """
        index, embedder, deadline, clock = self.book.index, self.engine.embedder, run.deadline, run.clock
        with clock.measure("embed"):
            vector = await embedder.embed_question(question.text, deadline)
        first: Sequence[Passage] = ()
        place = None
        if question.selection:
            with clock.measure("search"):
                selection = await locate_selection(question.selection, index, deadline)
            place = selection.place if selection.place.file else None
            if question.scope is not AnswerScope.BOOK:
                with clock.measure("embed"):
                    selected = await embedder.embed_question(question.selection, deadline)
                first = (Passage(selection, max(0.0, float(vector @ selected))),)
        found: Sequence[Passage] = ()
        if question.scope is not AnswerScope.SELECTION:
            with clock.measure("search"):
                found = await index.search(question.text, vector, MAX_PASSAGES, deadline)
        scored = (replace(each, score=embedder.score_similarity(each.score)) for each in (*first, *found))
        return Retrieval(tuple(scored), place)

    async def _compare(self, run: RunState, *phrases: str) -> float:
        with run.clock.measure("embed"):
            one, two = [await self.engine.embedder.embed_question(phrase, run.deadline) for phrase in phrases]
        return float(one @ two)

    async def _estimate(self, run: RunState, question: Question) -> float:
        """Returns how probable it is that the book answers, after a quick look at the best passages."""
        assessor = self.engine.quick_assessor or self.engine.assessor
        passages = (await self._retrieve(question, run)).passages[:QUICK_PASSAGES]
        with run.clock.measure("judge"):
            return (await assessor.assess(question.text, passages, run.deadline)).probability

    async def _judge(self, question: Question, candidates: Retrieval, run: RunState) -> tuple[Retrieval, Judgement]:
        if question.scope is not AnswerScope.SELECTION:
            run.tool_calls += (SEARCH_TOOL_NAME,)
        retrieval, assessment = await self._read(question, candidates, run)
        return retrieval, decide(question, retrieval, assessment, self.book.operating_point)

    async def _read(self, question: Question, candidates: Retrieval, run: RunState) -> tuple[Retrieval, Assessment]:
        """Reads the candidates; each part of a question is searched and read by itself."""
        assess, parts = self.engine.assessor.assess, split_question(question.text)
        found = [candidates] * len(parts)
        if len(parts) > 1 and run.searches_parts:
            found = [await self._retrieve(replace(question, text=part), run) for part in parts]
        with run.clock.measure("judge"):
            read = []
            for part, each in zip(parts, found, strict=True):
                named = prefer_named_words(part, each.passages, await assess(part, each.passages, run.deadline))
                covered = prefer_covering_block(part, each.passages, named)
                read.append(prefer_comparison_table(question.text, each.passages, covered))
        return rank_passages(question, *merge_part_readings(found, read))

    async def _write(self, retrieval: Retrieval, judgement: Judgement, run: RunState) -> AsyncGenerator[AnswerSentence]:
        """Yields each supported sentence; if the writer fails before the first one, the fallback writer writes."""
        fallback = self.engine.fallback_writer if run.question.allow_fallback else None
        for writer in filter(None, (self.engine.writer, fallback)):
            if judgement.is_unsure and not writer.can_refuse:
                return  # quotes would claim to be the answer
            run.writer, run.can_refuse = writer.name, writer.can_refuse
            draft = writer.write(run.question, retrieval.passages, judgement, run.deadline)
            try:
                async with aclosing(self._verify(draft, run)) as sentences:
                    async for sentence in sentences:
                        yield sentence
                return
            except ServiceError as error:
                if writer is fallback or not fallback:
                    raise
                log.warning("The answer quotes the book or is cut short because the language model failed: %s", error)
                run.degraded = True
            if run.sentences:
                return

    async def _verify(self, draft: AsyncGenerator[WriterEvent], run: RunState) -> AsyncGenerator[AnswerSentence]:
        async with aclosing(keep_supported(run.note_draft(draft), self.engine.verifier, run.clock)) as events:
            async for event in events:
                if isinstance(event, TokenUsage):
                    run.usage += event
                elif isinstance(event, MissingPart):
                    run.is_missing_part = True
                else:
                    run.sentences.append(event)
                    yield event

    async def _build_reply(self, retrieval: Retrieval, judgement: Judgement, run: RunState) -> Reply:
        book = self.book
        trace = run.build_trace(retrieval, book.manifest.generation, book.edition, self.engine.embedder.name)
        reply = build_reply(retrieval, judgement, run, trace)
        differing: tuple[str, ...] = ()
        if book.other_editions and isinstance(reply, Answer) and not run.note:
            differing = await book.other_editions.find_differing(reply.citations, run.deadline)
        title, total_seconds = book.manifest.title, run.clock.elapsed_seconds
        trace = replace(trace, differing_editions=differing, book_title=title, total_seconds=total_seconds)
        return replace(reply, trace=trace)
