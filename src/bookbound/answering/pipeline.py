"""Runs the steps that turn a question into a verified answer, an unsure reply or a refusal."""

from __future__ import annotations

import logging
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing, suppress
from dataclasses import dataclass, replace

from bookbound.answering.about_book import answer_about_book, reply_to_small_talk
from bookbound.answering.deciding.decision import rank_passages
from bookbound.answering.draft import Draft
from bookbound.answering.drafting import Drafting
from bookbound.answering.engine import Engine, OpenBook
from bookbound.answering.judging import NOTHING_FOUND, AgentSearches, Judging, PassageSearch, RunState, read_parts
from bookbound.answering.read_ahead import read_ahead
from bookbound.answering.reply_builder import Findings, build_reply
from bookbound.answering.understanding import understand, understand_part
from bookbound.answering.understanding.follow_up import ask_after_label, complete_follow_up, may_need_conversation
from bookbound.answering.writers.quotes.neighbour_chunks import join_neighbours
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
from bookbound.domain.reply import Answer, PipelineEvent, Progress, Reply
from bookbound.domain.trace import StageClock, Trace
from bookbound.languages.detection import detect_question_language
from bookbound.languages.other_languages import ask_in_book_language

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
        return rank_passages(*await read_parts(self.engine.assessor, understanding, found, run), question.k)[0]

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
        """Yields the passages, the judgement, each certain sentence and the reply, as soon as each is known.

        If the question is a follow-up, points at a selected label or is in another language than the book, it is
        completed first, and the completed question comes before all others. What a language model does is told before.
        """
        run, draft = self._start(question, clock), self._begin_draft(question)
        reader_language = detect_question_language(question.text, self.book.manifest.language)
        is_restated = self.engine.model is not None and (bool(reader_language) or _may_be_follow_up(question))
        if is_restated:
            yield Progress.UNDERSTANDING
        restated = await self._restate(run, draft) if is_restated else ""
        understanding = await self._understand(run, restated, reader_language)
        if understanding.completed_from:
            yield CompletedQuestion(understanding.text)
        found = await self._reply_unread(understanding, run)
        found = found or await Judging(self.engine, self.book).judge_as_meant(understanding, run)
        yield found.retrieval
        yield found.judgement
        for sentence in found.sentences:
            yield sentence
        draft.quotes += found.sentences
        quotable = found
        if found.understanding.kind is QuestionKind.QUESTION and not found.sentences:
            joined = await join_neighbours(found.retrieval, found.judgement, self.book.index, run.deadline)
            quotable = replace(found, retrieval=joined[0], judgement=joined[1])
            async with aclosing(Drafting(self.engine, draft, found, quotable, run).write()) as events:
                async for event in events:
                    yield event
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
        draft = self._begin_draft(question)
        if unread := await self._reply_unread(understanding, run):
            draft.quotes += unread.sentences
            return await self._build_reply(unread, unread, draft, run)
        understanding = understanding.as_question()  # the outline did not tell what it asks about the book
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
        none_found = Findings(understanding, Retrieval(()), NOTHING_FOUND)
        drafting = Drafting(self.engine, draft, none_found, none_found, run)
        async with aclosing(drafting.verify(read_ahead(events))) as verified:
            async for event in verified:
                draft.add(event)
        if not searches:
            draft.sentences.clear()
        found = searches.combine(understanding)
        await self._settle_conversation(Drafting(self.engine, draft, found, found, run))
        return await self._build_reply(found, found, draft, run)

    async def _settle_conversation(self, drafting: Drafting) -> None:
        """Revises what an agent wrote, and quotes the book if that would mislead."""
        draft, found = drafting.draft, drafting.found
        with suppress(ServiceError):  # the conversation is complete without it
            await drafting.revise(found.retrieval.passages)
        draft.settle(may_open_unverified=True)
        if draft.is_withheld and found.judgement.answer_present:
            async for _ in drafting.quote():
                pass

    async def close(self) -> None:
        await self.book.close()
        await self.engine.close()

    def _start(self, question: Question, clock: StageClock | None = None) -> RunState:
        engine, deadline, clock = self.engine, Deadline.after(self.engine.answer_seconds), clock or StageClock()
        search = PassageSearch(question, self.book.index, engine.embedder, deadline, clock)
        return RunState(question, deadline, clock, search)

    def _begin_draft(self, question: Question) -> Draft:
        return Draft(question.max_sentences, question.hides_unverified or self.engine.hides_unverified)

    async def _understand(self, run: RunState, restated: str, reader_language: str) -> Understanding:
        """Completes a follow-up that no model restated, and reads from the words of the question what is meant."""
        asked, title = run.question, self.book.manifest.title
        is_foreign = bool(reader_language)
        if is_foreign and restated:  # a model may repeat a question instead of translating it
            is_foreign = bool(detect_question_language(restated, self.book.manifest.language))
        if is_foreign:
            understanding = replace(understand(asked, title), kind=QuestionKind.OTHER_LANGUAGE)
        elif (completed := restated or await self._complete(run)) and completed != asked.text:
            understanding = understand(replace(asked, text=completed), title, completed_from=asked.text)
        else:
            understanding = understand(asked, title)
        return replace(understanding, book_language=self.book.manifest.language, reader_language=reader_language)

    async def _restate(self, run: RunState, draft: Draft) -> str:
        """Returns the question as the language model says it in the book's language, or nothing if the model fails."""
        assert self.engine.model
        try:
            with run.clock.measure("understand"):
                text, usage = await self.engine.model.restate(run.question, self.book.manifest.language, run.deadline)
        except ServiceError as error:
            if not (run.question.allow_fallback and self.engine.quotes_on_failure):
                raise
            log.warning("The question is read as it is because the language model failed: %s", error)
            draft.is_degraded = True
            return ""
        draft.usage += usage
        return text

    async def _complete(self, run: RunState) -> str:
        """Returns a follow-up as a complete question, or nothing if it is complete."""

        async def estimate(text: str) -> float:
            """Returns how probable it is that the book answers, after a quick look at the best passages."""
            assessor = self.engine.quick_assessor or self.engine.assessor
            found = (await run.search.find(text)).passages
            # A label that the question points at has become a part of its words.
            passages = [each for each in found if each.chunk.id != SELECTION_CHUNK_ID][:QUICK_PASSAGES]
            with run.clock.measure("judge"):
                return (await assessor.assess(understand_part(text), passages, run.deadline)).probability

        asked = run.question
        follow_up = ask_after_label(asked) if asked.selection else asked
        return await complete_follow_up(follow_up, run.search.compare, estimate) if follow_up.conversation else ""

    async def _reply_unread(self, understanding: Understanding, run: RunState) -> Findings | None:
        """Replies to what no passage has to be read for: questions about the book itself, and small talk."""
        if understanding.book_question and understanding.kind is QuestionKind.ABOUT_BOOK:
            with run.clock.measure("search"):
                return await answer_about_book(understanding, self.book.index, run.deadline)
        if understanding.kind is QuestionKind.OTHER_LANGUAGE:
            languages = understanding.reader_language, understanding.book_language
            note = ask_in_book_language(*languages, has_model=self.engine.model is not None)
            return Findings(understanding, Retrieval(()), NOTHING_FOUND, note=note)
        if understanding.small_talk is None:
            return None
        return reply_to_small_talk(understanding, self.book.index.manifest, await run.search.find(understanding.text))

    async def _build_reply(self, found: Findings, quotable: Findings, draft: Draft, run: RunState) -> Reply:
        book, manifest, understanding = self.book, self.book.index.manifest, found.understanding
        trace = Trace(
            retrieval=found.retrieval,
            generation=manifest.generation,
            embedder=self.engine.embedder.name,
            writer=self.engine.quotes.name if draft.quotes else self.engine.writer_name,
            stages=run.clock.stages,
            usage=draft.usage,
            sentences=draft.counts,
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


def _may_be_follow_up(question: Question) -> bool:
    return not question.selection and may_need_conversation(question)
