"""The parts of a pipeline, each of which tells the request that is being served what it took."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from dataclasses import replace
from typing import TYPE_CHECKING

from bookbound.ask import Pipeline
from bookbound.book import Chunk, Passage
from bookbound.dialogue import Piece, Question
from bookbound.finding import Evidence, Examination, Judgement, Support
from bookbound.manifest import Manifest
from bookbound.ports import Embedder, Examiner, Index, Verifier, Writer
from bookbound.watch.visit import staying

if TYPE_CHECKING:
    from bookbound.ports import Vectors


def watched(pipeline: Pipeline) -> Pipeline:
    """The same pipeline, with its stations watched."""
    return replace(
        pipeline,
        embedder=WatchedEmbedder(pipeline.embedder),
        index=WatchedIndex(pipeline.index),
        examiner=WatchedExaminer(pipeline.examiner),
        writer=WatchedWriter(pipeline.writer),
        verifier=WatchedVerifier(pipeline.verifier),
        spare=WatchedWriter(pipeline.spare) if pipeline.spare else None,
    )


class WatchedEmbedder:
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
        with staying("embed"):
            return await self._embedder.embed_question(text)

    async def close(self) -> None:
        await self._embedder.close()


class WatchedIndex:
    """An index whose searches are watched, also those for the place of a selection."""

    def __init__(self, index: Index) -> None:
        self._index = index

    @property
    def manifest(self) -> Manifest:
        return self._index.manifest

    async def search(self, words: str, vector: Vectors, k: int) -> list[Passage]:
        with staying("search"):
            return await self._index.search(words, vector, k)

    async def match(self, words: str, k: int) -> list[Chunk]:
        with staying("search"):
            return await self._index.match(words, k)

    async def chunks(self, file: str) -> list[Chunk]:
        with staying("search"):
            return await self._index.chunks(file)

    async def held(self, file: str) -> list[tuple[Chunk, Vectors]]:
        return await self._index.held(file)

    async def close(self) -> None:
        await self._index.close()


class WatchedExaminer:
    """An examiner that is watched."""

    def __init__(self, examiner: Examiner) -> None:
        self._examiner = examiner

    async def examine(self, question: str, passages: Sequence[Passage]) -> Examination:
        with staying("judge"):
            return await self._examiner.examine(question, passages)


class WatchedVerifier:
    """A verifier that is watched."""

    def __init__(self, verifier: Verifier) -> None:
        self._verifier = verifier

    async def support(self, sentence: str, evidence: Sequence[Evidence]) -> Support:
        with staying("verify"):
            return await self._verifier.support(sentence, evidence)


class WatchedWriter:
    """A writer that is watched while it writes, and not while its sentences are verified and read."""

    def __init__(self, writer: Writer) -> None:
        self._writer = writer

    @property
    def name(self) -> str:
        return self._writer.name

    @property
    def reads(self) -> bool:
        return self._writer.reads

    async def write(
        self, question: Question, passages: Sequence[Passage], judgement: Judgement
    ) -> AsyncGenerator[Piece]:
        async with aclosing(self._writer.write(question, passages, judgement)) as draft:
            while True:
                with staying("write"):
                    piece = await anext(draft, None)
                if piece is None:
                    return
                yield piece
