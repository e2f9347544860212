"""Wraps the parts of a pipeline and the answer service so that they record timings and outcomes."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Iterator, Sequence
from contextlib import aclosing, contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

from bookbound.answering.pipeline import Pipeline, PipelineEvent
from bookbound.contracts.http_contract import AnswerBackend, HealthCheck
from bookbound.domain.chunk import Chunk, Passage
from bookbound.domain.judgement import Assessment, Evidence, Judgement, SentenceSupport
from bookbound.domain.manifest import Manifest
from bookbound.domain.ports import AnswerabilityModel, AnswerWriter, Embedder, Index, Verifier
from bookbound.domain.question import Question, Retrieval
from bookbound.domain.reply import Answer, Refusal, Reply, WriterEvent
from bookbound.server import telemetry
from bookbound.server.telemetry import CURRENT_REQUEST, RequestKind, RequestRecord, time_stage

if TYPE_CHECKING:
    from bookbound.domain.ports import Vectors


class OutcomeRecorder:
    """Holds a desk and does what that does."""

    def __init__(self, desk: AnswerBackend) -> None:
        self._desk = desk

    @property
    def manifest(self) -> Manifest:
        return self._desk.manifest

    @property
    def models(self) -> dict[str, str]:
        return self._desk.models

    def checks(self) -> dict[str, HealthCheck]:
        return self._desk.checks()

    async def ask(self, question: Question) -> Reply:
        with _record_outcome("question") as reached:
            reply = await self._desk.ask(question)
            reached(reply)
            return reply

    async def search(self, question: Question) -> Retrieval:
        with _record_outcome("search") as reached:
            found = await self._desk.search(question)
            reached(found)
            return found

    async def steps(self, question: Question) -> AsyncGenerator[PipelineEvent]:
        with _record_outcome("question") as reached:
            async with aclosing(self._desk.steps(question)) as steps:
                async for step in steps:
                    if isinstance(step, Answer | Refusal):
                        reached(step)
                    yield step


@contextmanager
def _record_outcome(what: RequestKind) -> Iterator[Callable[[Reply | Retrieval], None]]:
    """Within this block something is put to the book; what comes of it goes to the function that is given."""
    visit = CURRENT_REQUEST.get() or RequestRecord("")
    visit.asked = what

    def reached(found: Reply | Retrieval) -> None:
        visit.outcome = telemetry.reply_outcome(found)
        visit.reply = None if isinstance(found, Retrieval) else found

    try:
        yield reached
    except BaseException as trouble:
        visit.outcome = visit.outcome or telemetry.error_outcome(
            trouble
        )  # who leaves after the reply was still answered
        raise


def instrument_pipeline(pipeline: Pipeline) -> Pipeline:
    """The same pipeline, with its stations watched."""
    return replace(
        pipeline,
        embedder=TimedEmbedder(pipeline.embedder),
        index=TimedIndex(pipeline.index),
        examiner=TimedExaminer(pipeline.examiner),
        writer=TimedWriter(pipeline.writer),
        verifier=TimedVerifier(pipeline.verifier),
        spare=TimedWriter(pipeline.spare) if pipeline.spare else None,
    )


class TimedEmbedder:
    """An embedder whose questions are watched."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder

    @property
    def name(self) -> str:
        return self._embedder.name

    @property
    def dimension(self) -> int:
        return self._embedder.dimension

    @property
    def budget(self) -> int:
        return self._embedder.budget

    def tokens(self, text: str) -> int:
        return self._embedder.tokens(text)

    async def embed(self, texts: Sequence[str]) -> Vectors:
        return await self._embedder.embed(texts)

    async def embed_question(self, text: str) -> Vectors:
        with time_stage("embed"):
            return await self._embedder.embed_question(text)

    async def close(self) -> None:
        await self._embedder.close()


class TimedIndex:
    """An index whose searches are watched, also those for the place of a selection."""

    def __init__(self, index: Index) -> None:
        self._index = index

    @property
    def manifest(self) -> Manifest:
        return self._index.manifest

    async def search(self, words: str, vector: Vectors, k: int) -> list[Passage]:
        with time_stage("search"):
            return await self._index.search(words, vector, k)

    async def match(self, words: str, k: int) -> list[Chunk]:
        with time_stage("search"):
            return await self._index.match(words, k)

    async def chunks(self, file: str) -> list[Chunk]:
        with time_stage("search"):
            return await self._index.chunks(file)

    async def held(self, file: str) -> list[tuple[Chunk, Vectors]]:
        return await self._index.held(file)

    async def close(self) -> None:
        await self._index.close()


class TimedExaminer:
    """An examiner that is watched."""

    def __init__(self, examiner: AnswerabilityModel) -> None:
        self._examiner = examiner

    async def examine(self, question: str, passages: Sequence[Passage]) -> Assessment:
        with time_stage("judge"):
            return await self._examiner.examine(question, passages)


class TimedVerifier:
    """A verifier that is watched."""

    def __init__(self, verifier: Verifier) -> None:
        self._verifier = verifier

    async def support(self, sentence: str, evidence: Sequence[Evidence]) -> SentenceSupport:
        with time_stage("verify"):
            return await self._verifier.support(sentence, evidence)


class TimedWriter:
    """A writer that is watched while it writes, and not while its sentences are verified and read."""

    def __init__(self, writer: AnswerWriter) -> None:
        self._writer = writer

    @property
    def name(self) -> str:
        return self._writer.name

    @property
    def reads(self) -> bool:
        return self._writer.reads

    async def write(
        self, question: Question, passages: Sequence[Passage], judgement: Judgement
    ) -> AsyncGenerator[WriterEvent]:
        async with aclosing(self._writer.write(question, passages, judgement)) as draft:
            while True:
                with time_stage("write"):
                    piece = await anext(draft, None)
                if piece is None:
                    return
                yield piece
