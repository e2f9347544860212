"""Provides fakes for tests: hand-made replies, a scripted backend and an embedder without a model."""

from __future__ import annotations

import math
import re
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from hashlib import blake2b
from typing import TYPE_CHECKING

from bookbound.answering.pipeline import PassageFormatter, PipelineEvent
from bookbound.domain.chunk import Chunk, Passage, Place
from bookbound.domain.document import SourceSpan
from bookbound.domain.judgement import Evidence, Judgement, RefusalReason
from bookbound.domain.manifest import Manifest
from bookbound.domain.question import Question, Retrieval
from bookbound.domain.reply import SEARCH_TOOL_NAME, Answer, AnswerSentence, Refusal, Reply, Trace

if TYPE_CHECKING:
    from bookbound.domain.ports import Vectors


SCRIPTED_MANIFEST = Manifest(
    "A Book", "markdown", "scripted", 3, "scripted", 10.0, 1, 1, generation="g1", created="2026-01-01"
)


def make_passage(
    text: str,
    chunk_id: str = "chunk_1",
    score: float = 0.8,
    *,
    chapter: str = "Chapter 1",
    title: str = "Chapter 1",
    section: str = "Section 1",
    url: str = "https://book.example/chapter-1",
    anchor: str = "",
    page: int | None = None,
) -> Passage:
    """A passage that fills its file."""
    place = Place("chapter-1.md", url, chapter, title, (section,) if section else (), anchor, 0, len(text), page)
    return Passage(Chunk(chunk_id, text, place, 0, (SourceSpan(0, len(text), 0, len(text)),)), score)


def make_answer(
    sentences: Sequence[tuple[str, Passage]],
    *,
    retrieved: Sequence[Passage] = (),
    quality: str = "Good",
    selection: Place | None = None,
) -> Answer:
    """An answer of these sentences, each resting on the whole of a passage."""
    rested = tuple(
        AnswerSentence(text, (Evidence.of(found, 0, len(found.chunk.text), 0.9),), 1.0) for text, found in sentences
    )
    used = tuple(dict.fromkeys(found for _, found in sentences))
    evidence = tuple(piece for sentence in rested for piece in sentence.evidence)
    ids = tuple(found.chunk.id for found in used)
    judgement = Judgement(0.9, ids, evidence, "Good" if quality == "Good" else "Partial")
    return Answer(rested, used, judgement, make_trace(tuple(retrieved) or used, selection))


def make_refusal(kind: RefusalReason = RefusalReason.LOW_RELEVANCE, retrieved: Sequence[Passage] = ()) -> Refusal:
    """A refusal of this kind."""
    return Refusal(kind, Judgement(0.1, (), (), "Poor", kind), make_trace(tuple(retrieved), None))


def make_trace(passages: tuple[Passage, ...], selection: Place | None) -> Trace:
    """What led to a scripted reply."""
    timings = {"retrieve": 3.0, "judge": 1.0, "answer": 2.0}
    found = Retrieval(passages, selection, 1.0, 2.0)
    return Trace(found, "g1", "scripted", "scripted", timings, tools=(SEARCH_TOOL_NAME,))


class ScriptedBackend:
    """Gives one reply, or raises one error, and keeps the questions it was asked."""

    manifest = SCRIPTED_MANIFEST
    agent = None

    def __init__(self, script: Reply | Exception) -> None:
        self._script = script
        self.models = {"embedder": "scripted", "writer": "scripted"}
        self.asked: list[Question] = []

    def checks(self) -> dict[str, Callable[[], Awaitable[object]]]:
        return {"script": lambda: self.ask(Question("ready"))}

    async def ask(self, question: Question) -> Reply:
        self.asked.append(question)
        if isinstance(self._script, Exception):
            raise self._script
        return self._script

    async def converse(self, question: Question, briefing: PassageFormatter, *, must_search: bool = True) -> Reply:
        return await self.ask(question)

    async def search(self, question: Question) -> Retrieval:
        return (await self.ask(question)).trace.retrieval

    async def steps(self, question: Question) -> AsyncGenerator[PipelineEvent]:
        reply = await self.ask(question)
        yield reply.trace.retrieval
        yield reply.judgement
        if isinstance(reply, Answer):
            for sentence in reply.sentences:
                yield sentence
        yield reply


class ScriptedEmbedder:
    """Vectors of hashed words; `given` are the texts that it embedded, in their order."""

    def __init__(self, name: str = "scripted", dimension: int = 32, budget: int = 200) -> None:
        self.name, self.dimension, self.budget = name, dimension, budget
        self.given: list[str] = []

    def tokens(self, text: str) -> int:
        return len(text.split())

    async def embed(self, texts: Sequence[str]) -> Vectors:
        self.given += texts
        return self._vectors(texts)

    async def embed_question(self, text: str) -> Vectors:
        return self._vectors([text]).reshape(-1)

    async def close(self) -> None:
        """There is nothing to let go of."""

    def _vectors(self, texts: Sequence[str]) -> Vectors:
        import numpy as np

        return np.asarray([embed_words(text, self.dimension) for text in texts], dtype=np.float32)


VectorFunction = Callable[[str, int], list[float]]
"""The vector of a text, of so many dimensions."""
RelevanceFunction = Callable[[str, str], float]
"""How relevant a document is to a query, from 0 to 1."""


def embed_words(text: str, dimension: int) -> list[float]:
    """A vector of length one in which each word of the text has its place: texts that share words are near."""
    vector = [0.0] * dimension
    for word in split_words(text) or ["\0"]:
        number = int.from_bytes(blake2b(word.encode(), digest_size=8).digest(), "big")
        # Long words say more about a text than short ones do.
        vector[(number >> 1) % dimension] += len(word) * (1 if number & 1 else -1)
    length = math.sqrt(sum(value * value for value in vector))
    if not length:  # two words took each other's place
        return [1.0] + [0.0] * (dimension - 1)
    return [value / length for value in vector]


def score_shared_words(query: str, document: str) -> float:
    """The share of the query's words that the document has."""
    wanted = set(split_words(query))
    return len(wanted & set(split_words(document))) / len(wanted) if wanted else 0.0


def split_words(text: str) -> list[str]:
    return re.findall(r"\w+", text.casefold())
