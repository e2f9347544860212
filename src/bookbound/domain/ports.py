"""Defines the interface of every replaceable part."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager
from typing import TYPE_CHECKING, Protocol, TypeAlias

from bookbound.domain.chunk import Chunk, Passage
from bookbound.domain.judgement import Assessment, Judgement, SentenceSupport
from bookbound.domain.language_model import ModelEvent, Prompt, RequestOptions, SearchTool
from bookbound.domain.manifest import Manifest
from bookbound.domain.outline import Outline
from bookbound.domain.question import NO_DEADLINE, Deadline, Question, QuestionPart, Retrieval, Understanding
from bookbound.domain.rate import RateLimitBucket, RateLimitResult
from bookbound.domain.reply import AnswerSentence, WriterEvent
from bookbound.domain.trace import QueryLogEntry, TokenUsage

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Vectors: TypeAlias = "NDArray[np.float32]"  # in quotes: most of the program does without numpy


class Embedder(Protocol):
    """Turns text into vectors of length one."""

    @property
    def name(self) -> str:
        """Stored in the index: two embedders with the same name return the same vector for a text."""

    @property
    def dimension(self) -> int: ...

    @property
    def max_tokens(self) -> int:
        """The longest text that it reads completely."""

    def count_tokens(self, text: str) -> int: ...

    async def embed(self, texts: Sequence[str]) -> Vectors:
        """Returns one row for each text of a book."""

    async def embed_question(self, text: str, deadline: Deadline = NO_DEADLINE) -> Vectors: ...

    def score_similarity(self, cosine: float) -> float:
        """Returns the score that interfaces compare with their thresholds; it rises with the cosine."""

    async def close(self) -> None: ...


class Index(Protocol):
    """One published generation of a book's index, open for reading."""

    @property
    def manifest(self) -> Manifest: ...

    async def search(self, words: str, vector: Vectors, k: int, deadline: Deadline = NO_DEADLINE) -> list[Passage]:
        """Returns the `k` best passages by meaning and words together."""

    async def match(self, words: str, k: int, deadline: Deadline = NO_DEADLINE) -> list[Chunk]:
        """Returns the `k` chunks that share the rarest words with `words`."""

    async def chunks(self, file: str, deadline: Deadline = NO_DEADLINE) -> list[Chunk]:
        """Returns the chunks of a file in reading order."""

    async def outline(self, deadline: Deadline = NO_DEADLINE) -> Outline:
        """Returns the chapters, pages, sections and words of the book; only the first call reads the whole index."""

    async def chunks_with_vectors(self, file: str) -> list[tuple[Chunk, Vectors]]:
        """Returns the chunks of a file in reading order, each with its dense vector."""

    async def close(self) -> None: ...


class IndexWriter(Protocol):
    """Writes one generation, which no reader sees before it is published."""

    async def add(self, chunks: Sequence[Chunk], vectors: Vectors) -> None:
        """Stores chunks with their vectors; they survive a kill afterwards."""

    async def publish(self) -> Manifest:
        """Verifies the generation and publishes it in one step."""


class IndexStore(Protocol):
    """Keeps the generations of one book's index."""

    def writer(self, manifest: Manifest) -> AbstractAsyncContextManager[IndexWriter]:
        """Begins a generation, which is discarded if the block ends without `publish`."""

    async def open(self) -> Index:
        """Opens the published generation."""

    async def books(self) -> list[str]:
        """Returns the names of the other books that are published in the same place."""

    async def published_generation(self) -> str:
        """Returns the id of the published generation at little cost, or an empty string."""

    async def generations(self) -> list[Manifest]:
        """Returns the manifests of the kept generations, the published one first."""

    async def roll_back(self, to: str = "") -> Manifest:
        """Publishes, in one step, the intact generation before the published one, or the earlier one with the id `to`.

        Newer generations are no longer kept.
        """


class Assessor(Protocol):
    """Reads a question and passages together."""

    async def assess(
        self, part: QuestionPart, passages: Sequence[Passage], deadline: Deadline = NO_DEADLINE
    ) -> Assessment:
        """Estimates how probable it is that each passage answers, and finds the words that do."""


class Verifier(Protocol):
    """Compares sentences with the words of the book."""

    async def verify(self, sentence: AnswerSentence) -> SentenceSupport:
        """Says how surely the evidence of a sentence supports it, and which words do or are closest."""


class AnswerWriter(Protocol):
    """Drafts an answer from passages that were judged to contain it."""

    @property
    def name(self) -> str: ...

    def write(
        self,
        understanding: Understanding,
        passages: Sequence[Passage],
        judgement: Judgement,
        deadline: Deadline = NO_DEADLINE,
    ) -> AsyncGenerator[WriterEvent]:
        """Yields sentences in reading order, each with its evidence, and the token usage; a missing part comes last."""


class AnswerModel(AnswerWriter, Protocol):
    """A language model in all that it does for an answer."""

    async def restate(
        self, question: Question, language: str, deadline: Deadline = NO_DEADLINE
    ) -> tuple[str, TokenUsage]:
        """Returns a question that is understood without its conversation, in a language; an empty text if it fails."""

    async def revise(
        self,
        understanding: Understanding,
        passages: Sequence[Passage],
        sentences: Sequence[AnswerSentence],
        deadline: Deadline = NO_DEADLINE,
    ) -> tuple[list[AnswerSentence | None], TokenUsage]:
        """Returns each sentence said again in the words of the passages, or None for one that it leaves out."""

    async def translate(
        self, texts: Sequence[str], source: str, target: str, deadline: Deadline = NO_DEADLINE
    ) -> tuple[list[str], TokenUsage]:
        """Returns each text in another language."""


BookSearch = Callable[[str, int], Awaitable[tuple[Retrieval, Sequence[str]]]]
"""Takes a query and a number of passages, and returns the passages and the text of each for a model.

There are no texts if the model must not answer from the passages."""
PassageFormatter = Callable[[Retrieval], Sequence[str]]
"""Formats each passage for a language model; an empty result forbids the model to answer from them."""


class Agent(Protocol):
    """A language model that searches the book by itself and then answers."""

    @property
    def name(self) -> str: ...

    @property
    def temperature(self) -> float: ...

    def converse(
        self, question: Question, search: BookSearch, deadline: Deadline = NO_DEADLINE, *, must_search: bool = True
    ) -> AsyncGenerator[WriterEvent]:
        """Yields what a writer yields, from what it found; nothing if it did not search.

        Unless it must search, it may decide to answer nothing.
        """


class LanguageModel(Protocol):
    """A language model of one provider."""

    @property
    def name(self) -> str: ...

    @property
    def temperature(self) -> float: ...

    @property
    def timeout_seconds(self) -> float:
        """The limit for all calls of one question that has no deadline."""

    def run(
        self, prompt: Prompt, options: RequestOptions, tool: SearchTool | None = None, *, turns: int = 1
    ) -> AsyncGenerator[ModelEvent]:
        """Yields the text as the model writes it, the usage of each call, and then the final reply.

        It makes at most `turns` calls and no retries. Every failure is a `ServiceError` without words of the provider;
        a rejected option is an `UnsupportedParameterError`.
        """

    async def close(self) -> None: ...


class QueryLog(Protocol):
    """Logs one row for each question without delaying the answer."""

    @property
    def added_count(self) -> int: ...

    @property
    def written_count(self) -> int: ...

    @property
    def lost_count(self) -> int: ...

    def add(self, entry: QueryLogEntry) -> None:
        """Takes an entry at once and never fails; it is written later or counted as lost."""

    async def close(self) -> None:
        """Writes buffered entries within a bounded time; entries added later are lost."""


class RateLimiter(Protocol):
    """Never allows more within any period than the rate of a bucket, also for concurrent requests."""

    async def take(self, buckets: Sequence[RateLimitBucket]) -> RateLimitResult:
        """Takes one from every bucket, or from none if one of them is empty."""

    async def close(self) -> None: ...
