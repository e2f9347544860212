"""Provides fakes for tests: hand-made replies, a scripted backend and an embedder without a model."""

from __future__ import annotations

import math
import re
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from hashlib import blake2b
from types import SimpleNamespace
from typing import TYPE_CHECKING, ClassVar

from bookbound.domain.chunk import Chunk, Passage, Place
from bookbound.domain.document import SourceSpan
from bookbound.domain.judgement import Evidence, Judgement, RefusalReason
from bookbound.domain.manifest import Manifest
from bookbound.domain.ports import PassageFormatter, Vectors
from bookbound.domain.question import NO_DEADLINE, Deadline, Question, Retrieval
from bookbound.domain.reply import SEARCH_TOOL_NAME, Answer, AnswerSentence, PipelineEvent, Refusal, Reply, Unsure
from bookbound.domain.trace import Stage, StageClock, StageTiming, Trace

if TYPE_CHECKING:
    from bookbound.contracts.request_context import RequestContext

VectorFunction = Callable[[str, int], list[float]]
"""Returns the vector of a text with this many dimensions."""
RelevanceFunction = Callable[[str, str], float]
"""Returns the relevance of a document to a query, from 0 to 1."""
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
    """A passage that is the whole text of its file."""
    place = Place("chapter-1.md", url, chapter, title, (section,) if section else (), anchor, 0, len(text), page)
    return Passage(Chunk(chunk_id, text, place, 0, (SourceSpan(0, len(text), 0, len(text)),)), score)


def make_answer(
    sentences: Sequence[tuple[str, Passage]],
    *,
    retrieved: Sequence[Passage] = (),
    selection: Place | None = None,
) -> Answer:
    """An answer whose sentences each cite a whole passage."""
    supported = tuple(
        AnswerSentence(text, (Evidence.from_chunk(passage.chunk, 0, len(passage.chunk.text), 0.9),), 1.0)
        for text, passage in sentences
    )
    used = tuple(dict.fromkeys(passage for _, passage in sentences))
    evidence = tuple(piece for sentence in supported for piece in sentence.evidence)
    ids = tuple(passage.chunk.id for passage in used)
    judgement = Judgement(0.9, ids, evidence, "Good")
    return Answer(supported, used, judgement, make_trace(tuple(retrieved) or used, selection))


def make_refusal(kind: RefusalReason = RefusalReason.LOW_RELEVANCE, retrieved: Sequence[Passage] = ()) -> Refusal:
    """A refusal that names the retrieved passages as the closest sections."""
    places = tuple(passage.chunk.place for passage in retrieved)
    return Refusal(kind, Judgement(0.1, (), (), "Poor", kind), make_trace(tuple(retrieved), None), places)


def make_unsure(closest: Sequence[Passage], kind: RefusalReason = RefusalReason.INSUFFICIENT_GROUNDING) -> Unsure:
    """An unsure reply that shows whole passages."""
    evidence = tuple(Evidence.from_chunk(each.chunk, 0, len(each.chunk.text), 0.5) for each in closest)
    ids = tuple(passage.chunk.id for passage in closest)
    judgement = Judgement(0.5, ids, evidence, "Partial", kind, is_unsure=True)
    return Unsure(kind, judgement, make_trace(tuple(closest), None), evidence)


def make_trace(passages: tuple[Passage, ...], selection: Place | None) -> Trace:
    seconds: dict[Stage, float] = {"embed": 0.001, "search": 0.002, "judge": 0.001, "write": 0.002}
    stages = {stage: StageTiming(calls=1, seconds=taken) for stage, taken in seconds.items()}
    retrieval = Retrieval(passages, selection)
    return Trace(
        retrieval,
        "g1",
        "scripted",
        "scripted",
        stages,
        tool_calls=(SEARCH_TOOL_NAME,),
        book_title=SCRIPTED_MANIFEST.title,
        total_seconds=sum(seconds.values()),
    )


class ScriptedPipeline:
    """A pipeline that answers every question with one reply or one error; `questions` are those it was asked."""

    book, engine = SimpleNamespace(manifest=SCRIPTED_MANIFEST, name="", edition=""), SimpleNamespace(agent=None)

    def __init__(self, script: Reply | Exception) -> None:
        self._script = script
        self.questions: list[Question] = []

    async def ask(
        self,
        question: Question,
        clock: StageClock | None = None,
        on_event: Callable[[PipelineEvent], None] | None = None,
    ) -> Reply:
        self.questions.append(question)
        if isinstance(self._script, Exception):
            raise self._script
        if clock:
            clock.stages.update(self._script.trace.stages)
        return self._script

    async def converse(
        self, question: Question, format_passages: PassageFormatter, *, must_search: bool = True
    ) -> Reply:
        return await self.ask(question)

    async def search(self, question: Question, clock: StageClock | None = None) -> Retrieval:
        return (await self.ask(question, clock)).trace.retrieval

    async def steps(self, question: Question, clock: StageClock | None = None) -> AsyncGenerator[PipelineEvent]:
        reply = await self.ask(question, clock)
        yield reply.trace.retrieval
        yield reply.judgement
        for sentence in reply.sentences if isinstance(reply, Answer) else ():
            yield sentence
        yield reply

    async def close(self) -> None: ...


class ScriptedBackend:
    """Answers the questions of every contract from a scripted pipeline."""

    models: ClassVar = {"embedder": "scripted", "writer": "scripted"}

    def __init__(self, script: Reply | Exception) -> None:
        self._pipeline = ScriptedPipeline(script)
        self.questions = self._pipeline.questions

    def health_checks(self) -> dict[str, Callable[[], Awaitable[object]]]:
        return {"script": lambda: self._pipeline.ask(Question("ready"))}

    async def manifest(self, context: RequestContext) -> Manifest:
        return SCRIPTED_MANIFEST

    async def ask(self, question: Question, context: RequestContext) -> Reply:
        return await self._pipeline.ask(question, context.record.clock)

    async def search(self, question: Question, context: RequestContext) -> Retrieval:
        return await self._pipeline.search(question, context.record.clock)

    def stream(self, question: Question, context: RequestContext) -> AsyncGenerator[PipelineEvent]:
        return self._pipeline.steps(question, context.record.clock)


class ScriptedEmbedder:
    """Embeds texts as vectors of hashed words; `texts` are those it embedded."""

    def __init__(self, name: str = "scripted", dimension: int = 32, max_tokens: int = 200) -> None:
        self.name, self.dimension, self.max_tokens = name, dimension, max_tokens
        self.texts: list[str] = []

    def count_tokens(self, text: str) -> int:
        return len(text.split())

    async def embed(self, texts: Sequence[str]) -> Vectors:
        self.texts += texts
        return self._vectors(texts)

    async def embed_question(self, text: str, deadline: Deadline = NO_DEADLINE) -> Vectors:
        return self._vectors([text]).reshape(-1)

    def score_similarity(self, cosine: float) -> float:
        return cosine

    async def close(self) -> None: ...

    def _vectors(self, texts: Sequence[str]) -> Vectors:
        import numpy as np

        return np.asarray([embed_words(text, self.dimension) for text in texts], dtype=np.float32)


def embed_words(text: str, dimension: int) -> list[float]:
    """A unit vector with a component for each word, so that texts that share words are similar."""
    vector = [0.0] * dimension
    for word in split_words(text) or ["\0"]:
        number = int.from_bytes(blake2b(word.encode(), digest_size=8).digest(), "big")
        # Long words say more about a text than short ones do.
        vector[(number >> 1) % dimension] += len(word) * (1 if number & 1 else -1)
    length = math.sqrt(sum(value * value for value in vector))
    if not length:  # two words cancelled each other
        return [1.0] + [0.0] * (dimension - 1)
    return [value / length for value in vector]


def score_shared_words(query: str, document: str) -> float:
    """The share of the query's words that the document has."""
    wanted = set(split_words(query))
    return len(wanted & set(split_words(document))) / len(wanted) if wanted else 0.0


def split_words(text: str) -> list[str]:
    return re.findall(r"\w+", text.casefold())
