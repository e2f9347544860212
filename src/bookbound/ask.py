"""A question becomes an answer or a refusal."""

from __future__ import annotations

import logging
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import AsyncExitStack, aclosing
from dataclasses import dataclass, field, replace

from bookbound.dialogue import SEARCH_TOOL, Answer, Question, Refusal, Reply, Retrieval, Sentence, Trace, Usage
from bookbound.errors import InvalidInput, ServiceTrouble
from bookbound.finding import Examination, Judgement, RefusalKind
from bookbound.judge import OperatingPoint, judge
from bookbound.judge.grounding import ground
from bookbound.judge.order import ordered
from bookbound.patience import wait_at_most
from bookbound.ports import Agent, Embedder, Examiner, Index, Verifier, Writer
from bookbound.retrieve import retrieve
from bookbound.work import Found, Work

Step = Retrieval | Judgement | Sentence | Reply
Briefing = Callable[[Retrieval], Sequence[str]]
"""What was found as a language model is to read it, passage by passage; nothing where it must not answer from it."""

log = logging.getLogger("bookbound.ask")


@dataclass(frozen=True, slots=True)
class Pipeline:
    """The parts that answer questions from one book; `spare` writes where `writer` fails and the question allows it.

    It does so where the question is as probably answered as `sure`, which may be more than a language model needs.
    `held` is what was opened for the parts, and is let go of with the pipeline.
    """

    embedder: Embedder
    index: Index
    examiner: Examiner
    writer: Writer
    verifier: Verifier
    point: OperatingPoint
    sure: float = 0.0
    spare: Writer | None = None
    agent: Agent | None = None
    deadline: float = 30.0
    held: AsyncExitStack = field(default_factory=AsyncExitStack)

    async def candidates(self, question: Question) -> Retrieval:
        """What the search alone finds: more passages than are asked for, in its own order, unread."""
        wait_at_most(self.deadline)
        return await retrieve(question, self.embedder, self.index)

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

    async def steps(self, question: Question) -> AsyncGenerator[Step]:
        """What is found on the way, as it is found: passages, a judgement, each sentence that holds, the reply."""
        wait_at_most(self.deadline)
        work = Work(self.writer.name)
        retrieval, judgement = await self._judged(question, question, work)
        yield retrieval
        yield judgement
        if judgement.refusal is None:
            async with aclosing(self._sentences(question, retrieval, judgement, work)) as sentences:
                async for sentence in sentences:
                    yield sentence
            work.lap("answer")
        yield self._reply(retrieval, judgement, work)

    async def converse(self, question: Question, briefing: Briefing) -> Reply:
        """The same by way of an agent, which searches by itself; it learns of the book what `briefing` tells it.

        Whatever it searches for, what was found is judged by the reader's own question. Where there is no agent, or it
        never searched, the book is searched for the question as it stands.
        """
        if self.agent is None:
            return await self.ask(question)
        wait_at_most(self.deadline)
        work, found = Work(self.agent.name), Found()

        async def search(query: str, k: int) -> tuple[Retrieval, Sequence[str]]:
            work.lap("answer")
            work.tools += (SEARCH_TOOL,)
            sought = _sought(question, query, k)
            retrieval, judgement = await self._judged(sought, replace(question, k=sought.k), work)
            told = briefing(retrieval) if judgement.refusal is None else ()
            found.add(retrieval, judgement if told else _withheld(judgement))
            return retrieval, told

        async with aclosing(self._grounded(self.agent.converse(question, search), work)) as sentences:
            async for _ in sentences:
                pass
        work.lap("answer")
        if not found:
            found.add(*await self._judged(question, question, work))
            work.sentences.clear()
        return self._reply(found.retrieval, found.judgement, work)

    async def close(self) -> None:
        """Let go of what the parts hold."""
        await self.held.aclose()

    async def _judged(self, sought: Question, question: Question, work: Work) -> tuple[Retrieval, Judgement]:
        """What is found for `sought`, read and judged as an answer to `question`."""
        candidates = await retrieve(sought, self.embedder, self.index)
        work.lap("retrieve")
        retrieval, examination = await self._read(question, candidates)
        judgement = judge(question, retrieval, examination, self.point)
        work.lap("judge")
        return retrieval, judgement

    async def _read(self, question: Question, found: Retrieval) -> tuple[Retrieval, Examination]:
        """The passages that were found, read and put in the order of what was read in them."""
        return ordered(question, found, await self.examiner.examine(question.text, found.passages))

    async def _sentences(
        self, question: Question, retrieval: Retrieval, judgement: Judgement, work: Work
    ) -> AsyncGenerator[Sentence]:
        """Each sentence that holds; where the writer fails, what held stands, or else what the spare one writes."""
        writers = [self.writer, *([self.spare] if self.spare and question.fall_back else [])]
        for writer in writers:
            work.writer = writer.name
            draft = writer.write(question, retrieval.passages, judgement)
            try:
                async with aclosing(self._grounded(draft, work)) as sentences:
                    async for sentence in sentences:
                        yield sentence
                return
            except ServiceTrouble as trouble:
                if writer is writers[-1]:
                    raise
                log.warning("An answer is in the book's own words, or cut short: %s", trouble)
                work.degraded = True
            if work.sentences or judgement.probability < self.sure:
                return

    async def _grounded(self, draft: AsyncGenerator[Sentence | Usage], work: Work) -> AsyncGenerator[Sentence]:
        async with aclosing(draft), aclosing(ground(draft, self.verifier)) as grounded:
            async for piece in grounded:
                if isinstance(piece, Usage):
                    work.usage += piece
                else:
                    work.sentences.append(piece)
                    yield piece

    def _reply(self, retrieval: Retrieval, judgement: Judgement, work: Work) -> Reply:
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
        )
        if not sentences:
            refusal = judgement.refusal or RefusalKind.INSUFFICIENT_GROUNDING
            return Refusal(refusal, replace(judgement, refusal=refusal), trace)
        used = {evidence.chunk_id for sentence in sentences for evidence in sentence.evidence}
        passages = tuple(passage for passage in retrieval.passages if passage.chunk.id in used)
        partial = judgement.partial or _left_out(judgement, sentences)
        return Answer(sentences, passages, replace(judgement, partial=partial), trace)


def _sought(question: Question, query: str, k: int) -> Question:
    """What a language model searches for; where that is no question at all, it is the reader's own."""
    try:
        return replace(question, text=query, k=k)
    except InvalidInput:
        return question


def _left_out(judgement: Judgement, sentences: Sequence[Sentence]) -> bool:
    """Whether a part of the question that has evidence has none of it in the answer."""
    said = [evidence for sentence in sentences for evidence in sentence.evidence]
    parts: dict[int, bool] = {}
    for piece in judgement.evidence:
        parts[piece.part] = parts.get(piece.part, False) or any(map(piece.shares, said))
    return len(parts) > 1 and not all(parts.values())


def _withheld(judgement: Judgement) -> Judgement:
    """The judgement on what a model was not given to read."""
    return replace(judgement, refusal=judgement.refusal or RefusalKind.LOW_RELEVANCE)
