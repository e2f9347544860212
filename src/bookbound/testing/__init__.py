"""Published fakes: replies made by hand, and a desk that gives them, for tests of faces and of what stands on them."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence

from bookbound.ask import Briefing, Step
from bookbound.book import Chunk, Passage, Place, Run
from bookbound.dialogue import SEARCH_TOOL, Answer, Question, Refusal, Reply, Retrieval, Sentence
from bookbound.finding import Evidence, Judgement, RefusalKind
from bookbound.manifest import Manifest
from bookbound.trace import Trace

MANIFEST = Manifest("A Book", "markdown", "scripted", 3, "scripted", 10.0, 1, 1, generation="g1", created="2026-01-01")


def passage(
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
    return Passage(Chunk(chunk_id, text, place, 0, (Run(0, len(text), 0, len(text)),)), score)


def answer(
    sentences: Sequence[tuple[str, Passage]],
    *,
    retrieved: Sequence[Passage] = (),
    quality: str = "Good",
    selection: Place | None = None,
) -> Answer:
    """An answer of these sentences, each resting on the whole of a passage."""
    rested = tuple(
        Sentence(text, (Evidence.of(found, 0, len(found.chunk.text), 0.9),), 1.0) for text, found in sentences
    )
    used = tuple(dict.fromkeys(found for _, found in sentences))
    evidence = tuple(piece for sentence in rested for piece in sentence.evidence)
    ids = tuple(found.chunk.id for found in used)
    judgement = Judgement(0.9, ids, evidence, "Good" if quality == "Good" else "Partial")
    return Answer(rested, used, judgement, trace(tuple(retrieved) or used, selection))


def refusal(kind: RefusalKind = RefusalKind.LOW_RELEVANCE, retrieved: Sequence[Passage] = ()) -> Refusal:
    """A refusal of this kind."""
    return Refusal(kind, Judgement(0.1, (), (), "Poor", kind), trace(tuple(retrieved), None))


def trace(passages: tuple[Passage, ...], selection: Place | None) -> Trace:
    """What led to a scripted reply."""
    timings = {"retrieve": 3.0, "judge": 1.0, "answer": 2.0}
    found = Retrieval(passages, selection, 1.0, 2.0)
    return Trace(found, "g1", "scripted", "scripted", timings, tools=(SEARCH_TOOL,))


class ScriptedDesk:
    """Gives one reply, or raises one error, and keeps the questions it was asked."""

    manifest = MANIFEST
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

    async def converse(self, question: Question, briefing: Briefing, *, must_search: bool = True) -> Reply:
        return await self.ask(question)

    async def search(self, question: Question) -> Retrieval:
        return (await self.ask(question)).trace.retrieval

    async def steps(self, question: Question) -> AsyncGenerator[Step]:
        reply = await self.ask(question)
        yield reply.trace.retrieval
        yield reply.judgement
        if isinstance(reply, Answer):
            for sentence in reply.sentences:
                yield sentence
        yield reply
