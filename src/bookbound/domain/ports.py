"""Defines the interface of every replaceable part."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager
from typing import TYPE_CHECKING, Protocol

from bookbound.domain.chunk import Chunk, Passage
from bookbound.domain.judgement import Assessment, Evidence, Judgement, SentenceSupport
from bookbound.domain.manifest import Manifest
from bookbound.domain.query_log_entry import QueryLogEntry
from bookbound.domain.question import Question, Retrieval
from bookbound.domain.rate_limit import RateLimitBucket, RateLimitResult
from bookbound.domain.reply import WriterEvent

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Vectors = NDArray[np.float32]


class Embedder(Protocol):
    """Turns words into vectors of length one."""

    @property
    def name(self) -> str:
        """What an index remembers: two embedders of one name give one text the same vector."""

    @property
    def dimension(self) -> int: ...

    @property
    def budget(self) -> int:
        """The most tokens a text may have and be read whole."""

    def tokens(self, text: str) -> int:
        """How many tokens `text` takes."""

    async def embed(self, texts: Sequence[str]) -> Vectors:
        """One row for each text of a book."""

    async def embed_question(self, text: str) -> Vectors:
        """The vector of a question."""

    async def close(self) -> None: ...


class Index(Protocol):
    """One published generation of a book's index, open for reading."""

    @property
    def manifest(self) -> Manifest: ...

    async def search(self, words: str, vector: Vectors, k: int) -> list[Passage]:
        """The `k` best passages by meaning and words together, each with its cosine."""

    async def match(self, words: str, k: int) -> list[Chunk]:
        """The `k` chunks that share the rarest words with `words`."""

    async def chunks(self, file: str) -> list[Chunk]:
        """A file's chunks in reading order."""

    async def held(self, file: str) -> list[tuple[Chunk, Vectors]]:
        """The same, each with the vector of its meaning."""

    async def close(self) -> None: ...


class IndexWriter(Protocol):
    """A generation that is being written and that no reader sees."""

    async def add(self, chunks: Sequence[Chunk], vectors: Vectors) -> None:
        """Keep chunks and their vectors; when this returns they survive a kill."""

    async def publish(self) -> Manifest:
        """Verify what was written and make it, in one step, the generation that readers open."""


class IndexStore(Protocol):
    """Where the generations of one book's index live."""

    def draft(self, manifest: Manifest) -> AbstractAsyncContextManager[IndexWriter]:
        """Begin a generation; leaving the block without `publish` discards it."""

    async def open(self) -> Index:
        """The published generation."""

    async def books(self) -> list[str]:
        """The names of the books that are published beside this one, in its own place."""

    async def published(self) -> str:
        """The generation that readers open, found out at little cost; nothing where there is none."""

    async def generations(self) -> list[Manifest]:
        """What is kept, newest first; the published one is the first whose `generation` is current."""

    async def roll_back(self) -> Manifest:
        """Withdraw the published generation and make, in one step, the one before it what readers open."""


class AnswerabilityModel(Protocol):
    """Reads question and passages together."""

    async def examine(self, question: str, passages: Sequence[Passage]) -> Assessment:
        """How probably each passage answers, and with which words."""


class Verifier(Protocol):
    """Reads a sentence against the words it claims to rest on."""

    async def support(self, sentence: str, evidence: Sequence[Evidence]) -> SentenceSupport:
        """How probably the sentence says no more than the evidence does, and which words of it carry the sentence."""


class AnswerWriter(Protocol):
    """Drafts an answer from passages that were judged to hold it."""

    @property
    def name(self) -> str: ...

    @property
    def reads(self) -> bool:
        """Whether it finds out by itself, reading, that there is no answer; quotes cannot."""

    def write(
        self, question: Question, passages: Sequence[Passage], judgement: Judgement
    ) -> AsyncGenerator[WriterEvent]:
        """One to five sentences in reading order, each with the evidence it rests on, and what that took.

        Whether something is missing beside them is said after them; they are then four at most.
        """


BookSearch = Callable[[str, int], Awaitable[tuple[Retrieval, Sequence[str]]]]
"""The book's own search for a query and a number of passages: what was found, and each passage as a model reads it.

Where the book must not be answered from, there is nothing to read."""


class Agent(Protocol):
    """A language model that asks the book by itself and then answers."""

    @property
    def name(self) -> str: ...

    @property
    def temperature(self) -> float:
        """How freely it words what it says; at 0 as little as it can."""

    def converse(
        self, question: Question, search: BookSearch, *, must_search: bool = True
    ) -> AsyncGenerator[WriterEvent]:
        """What a writer gives, from what it found; without a search it says nothing.

        Whether to search may be left to it.
        """


class QueryLog(Protocol):
    """Keeps one row for each question; whatever becomes of the row, the answer goes out."""

    @property
    def noted(self) -> int:
        """How many entries were taken so far."""

    @property
    def written(self) -> int:
        """How many of them are rows."""

    @property
    def lost(self) -> int:
        """How many entries were noted and will never be rows."""

    def note(self, entry: QueryLogEntry) -> None:
        """Take an entry, at once and without fail; it is written later, or counted as lost."""

    async def close(self) -> None:
        """Write what waits, as far as that goes within a bounded time; from then on every entry is lost."""


class RateLimiter(Protocol):
    """Counts what is taken from buckets: within any span, never more than its rate allows, whoever takes at once."""

    async def take(self, buckets: Sequence[RateLimitBucket]) -> RateLimitResult:
        """One from every bucket; where one of them has none left, from none."""

    async def close(self) -> None: ...
