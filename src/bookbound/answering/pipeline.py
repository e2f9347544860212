"""Runs the steps that turn a question into a verified answer or a refusal."""

from __future__ import annotations

import logging
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import AsyncExitStack, aclosing
from dataclasses import dataclass, field, replace

from bookbound.answering.decision import decide, rank_passages
from bookbound.answering.grounding import keep_supported
from bookbound.answering.operating_point import OperatingPoint
from bookbound.answering.retrieve import retrieve_passages
from bookbound.answering.retrieve.editions import OtherEditions
from bookbound.answering.run_state import AgentSearches, RunState, rephrase_question
from bookbound.domain.errors import ServiceError
from bookbound.domain.judgement import Assessment, Judgement, RefusalReason
from bookbound.domain.ports import Agent, AnswerabilityModel, AnswerWriter, Embedder, Index, Verifier
from bookbound.domain.question import AnswerScope, Question, Retrieval
from bookbound.domain.reply import (
    SEARCH_TOOL_NAME,
    Answer,
    AnswerSentence,
    MissingPart,
    Refusal,
    Reply,
    TokenUsage,
    Trace,
    WriterEvent,
)
from bookbound.services import set_deadline

PipelineEvent = Retrieval | Judgement | AnswerSentence | Reply
PassageFormatter = Callable[[Retrieval], Sequence[str]]
"""What was found as a language model is to read it, passage by passage; nothing where it must not answer from it."""
log = logging.getLogger("bookbound.answering.pipeline")


@dataclass(frozen=True, slots=True)
class Pipeline:
    """The parts that answer questions from one book; `spare` writes where `writer` fails and the question allows it.

    `others` are other editions of the book, which answers are compared with.

    `held` is what was opened for the parts, and is let go of with the pipeline.
    """

    embedder: Embedder
    index: Index
    examiner: AnswerabilityModel
    writer: AnswerWriter
    verifier: Verifier
    point: OperatingPoint
    spare: AnswerWriter | None = None
    agent: Agent | None = None
    deadline: float = 30.0
    edition: str = ""
    others: OtherEditions | None = None
    held: AsyncExitStack = field(default_factory=AsyncExitStack)

    async def candidates(self, question: Question) -> Retrieval:
        """What the search alone finds: more passages than are asked for, in its own order, unread."""
        set_deadline(self.deadline)
        return await retrieve_passages(question, self.embedder, self.index)

    async def search(self, question: Question) -> Retrieval:
        """The passages alone, in the order they were read as answering, without a judgement."""
        return (await self._read(question, await self.candidates(question)))[0]

    async def ask(self, question: Question) -> Reply:
        """An answer whose every sentence was found supported, or a refusal."""
        async with aclosing(self.steps(question)) as steps:
            async for step in steps:
                if isinstance(step, Answer | Refusal):
                    return step
        raise AssertionError("every question ends in a reply")

    async def steps(self, question: Question) -> AsyncGenerator[PipelineEvent]:
        """What is found on the way, as it is found: passages, a judgement, each sentence that holds, the reply."""
        set_deadline(self.deadline)
        work = RunState(self.writer.name)
        retrieval, judgement = await self._judged(question, await self._found(question, work), work)
        yield retrieval
        yield judgement
        if judgement.refusal is None:
            async with aclosing(self._sentences(question, retrieval, judgement, work)) as sentences:
                async for sentence in sentences:
                    yield sentence
            work.lap("answer")
        yield await self._compared(self._reply(retrieval, judgement, work))

    async def converse(self, question: Question, briefing: PassageFormatter, *, must_search: bool = True) -> Reply:
        """The same by way of an agent, which searches by itself; it learns of the book what `briefing` tells it.

        Whatever it searches for, what was found is judged by the reader's own question, and counts as no more similar
        than what the question itself finds. An agent that never searched is not believed: nothing was found. Where
        there is no agent, the book is searched for the question as it stands.
        """
        if self.agent is None:
            return await self.ask(question)
        set_deadline(self.deadline)
        work = RunState(self.agent.name, reads=True)
        found = AgentSearches(await self._found(question, work))

        async def search(query: str, k: int) -> tuple[Retrieval, Sequence[str]]:
            work.lap("answer")
            sought = rephrase_question(question, query, k)
            candidates = found.no_nearer(await self._found(sought, work))
            retrieval, judgement = await self._judged(replace(question, k=sought.k), candidates, work)
            told = briefing(retrieval) if judgement.refusal is None else ()
            found.add(retrieval, judgement, withheld=not told)
            return retrieval, told

        draft = self.agent.converse(question, search, must_search=must_search)
        async with aclosing(self._grounded(draft, work)) as sentences:
            async for _ in sentences:
                pass
        work.lap("answer")
        if not found:
            work.sentences.clear()
        return await self._compared(self._reply(found.retrieval, found.judgement, work))

    async def close(self) -> None:
        """Let go of the index, and of what the parts hold."""
        await self.index.close()
        if self.others:
            await self.others.close()
        await self.held.aclose()

    async def _found(self, sought: Question, work: RunState) -> Retrieval:
        found = await retrieve_passages(sought, self.embedder, self.index)
        work.lap("retrieve")
        return found

    async def _judged(self, question: Question, candidates: Retrieval, work: RunState) -> tuple[Retrieval, Judgement]:
        """What was found, read and judged as an answer to a question."""
        if question.scope is not AnswerScope.SELECTION:
            work.tools += (SEARCH_TOOL_NAME,)
        retrieval, examination = await self._read(question, candidates)
        judgement = decide(question, retrieval, examination, self.point)
        work.lap("judge")
        return retrieval, judgement

    async def _read(self, question: Question, found: Retrieval) -> tuple[Retrieval, Assessment]:
        """The passages that were found, read and put in the order of what was read in them."""
        return rank_passages(question, found, await self.examiner.examine(question.text, found.passages))

    async def _sentences(
        self, question: Question, retrieval: Retrieval, judgement: Judgement, work: RunState
    ) -> AsyncGenerator[AnswerSentence]:
        """Each sentence that holds; where the writer fails, what held stands, or else what the spare one writes."""
        writers = [self.writer, *([self.spare] if self.spare and question.fall_back else [])]
        for writer in writers:
            work.writer, work.reads = writer.name, writer.reads
            draft = writer.write(question, retrieval.passages, judgement)
            try:
                async with aclosing(self._grounded(draft, work)) as sentences:
                    async for sentence in sentences:
                        yield sentence
                return
            except ServiceError as trouble:
                if writer is writers[-1]:
                    raise
                log.warning("An answer is in the book's own words, or cut short: %s", trouble)
                work.degraded = True
            if work.sentences:
                return

    async def _grounded(self, draft: AsyncGenerator[WriterEvent], work: RunState) -> AsyncGenerator[AnswerSentence]:
        async with aclosing(draft), aclosing(keep_supported(draft, self.verifier)) as grounded:
            async for piece in grounded:
                if isinstance(piece, TokenUsage):
                    work.usage += piece
                elif isinstance(piece, MissingPart):
                    work.missing = True
                else:
                    work.sentences.append(piece)
                    yield piece

    async def _compared(self, reply: Reply) -> Reply:
        """The same, with the other editions named that do not say what is cited."""
        if self.others is None or isinstance(reply, Refusal):
            return reply
        differs = await self.others.differing(reply.citations)
        return replace(reply, trace=replace(reply.trace, differs=differs))

    def _reply(self, retrieval: Retrieval, judgement: Judgement, work: RunState) -> Reply:
        sentences = tuple(work.sentences)
        trace = Trace(
            retrieval=retrieval,
            generation=self.index.manifest.generation,
            embedder=self.embedder.name,
            writer=work.writer,
            timings=work.milliseconds,
            usage=work.usage,
            tools=work.tools,
            degraded=work.degraded,
            edition=self.edition,
        )
        if not sentences:
            refusal = judgement.refusal or RefusalReason.INSUFFICIENT_GROUNDING
            return Refusal(refusal, replace(judgement, refusal=refusal), trace)
        used = {evidence.chunk_id for sentence in sentences for evidence in sentence.evidence}
        passages = tuple(passage for passage in retrieval.passages if passage.chunk.id in used)
        partial = judgement.partial or work.missing or _omits_answered_part(judgement, sentences)
        return Answer(
            sentences, passages, replace(judgement, partial=partial, sure=judgement.sure or work.reads), trace
        )


def _omits_answered_part(judgement: Judgement, sentences: Sequence[AnswerSentence]) -> bool:
    """Whether a part of the question that has evidence has none of it in the answer."""
    said = [evidence for sentence in sentences for evidence in sentence.evidence]
    parts: dict[int, bool] = {}
    for piece in judgement.evidence:
        parts[piece.part] = parts.get(piece.part, False) or any(map(piece.shares, said))
    return len(parts) > 1 and not all(parts.values())
