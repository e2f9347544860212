"""A question becomes an answer or a refusal."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace
from time import perf_counter

from bookbound.dialogue import Answer, Question, Refusal, Reply, Retrieval, Sentence, Trace
from bookbound.finding import Examination, Judgement, RefusalKind
from bookbound.judge import OperatingPoint, judge
from bookbound.judge.grounding import ground
from bookbound.judge.order import ordered
from bookbound.ports import Embedder, Examiner, Index, Verifier, Writer
from bookbound.retrieve import retrieve

Step = Retrieval | Judgement | Sentence | Reply


@dataclass(frozen=True, slots=True)
class Pipeline:
    """The parts that answer questions from one book."""

    embedder: Embedder
    index: Index
    examiner: Examiner
    writer: Writer
    verifier: Verifier
    point: OperatingPoint

    async def candidates(self, question: Question) -> Retrieval:
        """What the search alone finds: more passages than are asked for, in its own order, unread."""
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
        watch = Watch()
        found = await self.candidates(question)
        watch.lap("retrieve")
        retrieval, examination = await self._read(question, found)
        yield retrieval
        judgement = judge(question, retrieval, examination, self.point)
        watch.lap("judge")
        yield judgement
        sentences: list[Sentence] = []
        if judgement.refusal is None:
            draft = self.writer.write(question, retrieval.passages, judgement)
            async with aclosing(ground(draft, self.verifier)) as grounded:
                async for sentence in grounded:
                    sentences.append(sentence)
                    yield sentence
            watch.lap("answer")
        yield self._reply(retrieval, judgement, tuple(sentences), watch)

    async def close(self) -> None:
        """Let go of what the parts hold."""
        await self.index.close()
        await self.embedder.close()

    async def _read(self, question: Question, found: Retrieval) -> tuple[Retrieval, Examination]:
        """The passages that were found, read and put in the order of what was read in them."""
        return ordered(question, found, await self.examiner.examine(question.text, found.passages))

    def _reply(
        self, retrieval: Retrieval, judgement: Judgement, sentences: tuple[Sentence, ...], watch: Watch
    ) -> Reply:
        trace = Trace(
            retrieval=retrieval,
            generation=self.index.manifest.generation,
            embedder=self.embedder.name,
            writer=self.writer.name,
            timings=watch.milliseconds,
        )
        if not sentences:
            refusal = judgement.refusal or RefusalKind.INSUFFICIENT_GROUNDING
            return Refusal(refusal, replace(judgement, refusal=refusal), trace)
        used = {evidence.chunk_id for sentence in sentences for evidence in sentence.evidence}
        passages = tuple(passage for passage in retrieval.passages if passage.chunk.id in used)
        partial = judgement.partial or _left_out(judgement, sentences)
        return Answer(sentences, passages, replace(judgement, partial=partial), trace)


def _left_out(judgement: Judgement, sentences: Sequence[Sentence]) -> bool:
    """Whether a part of the question that has evidence has none of it in the answer."""
    said = [evidence for sentence in sentences for evidence in sentence.evidence]
    parts: dict[int, bool] = {}
    for piece in judgement.evidence:
        parts[piece.part] = parts.get(piece.part, False) or any(map(piece.shares, said))
    return len(parts) > 1 and not all(parts.values())


class Watch:
    """How many milliseconds each part of the work took."""

    def __init__(self) -> None:
        self.milliseconds: dict[str, float] = {}
        self._last = perf_counter()

    def lap(self, name: str) -> None:
        now = perf_counter()
        self.milliseconds[name], self._last = (now - self._last) * 1000, now
