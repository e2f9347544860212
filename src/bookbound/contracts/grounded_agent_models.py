"""Defines the entities, constants and validation rules of contract 004."""

from __future__ import annotations

from dataclasses import dataclass, field

from bookbound.contracts.agent import is_in_range

DEFAULT_SCORE_THRESHOLD = 0.3
MIN_CHUNKS_FOR_ANSWER = 1
DEFAULT_K = 5
MAX_K = 8
MIN_K = 3
MAX_ANSWER_LENGTH = 2000
MAX_CITATIONS = 5
REFUSAL_NO_CONTEXT = "I cannot answer this question based on the textbook content. No relevant information was found."
REFUSAL_LOW_SCORE = (
    "I cannot answer this question with confidence. The retrieved content has low relevance to your question."
)
REFUSAL_OFF_TOPIC = "This question appears to be outside the scope of the Physical AI & Humanoid Robotics textbook."
PUBLISHED_TITLE = "Physical AI & Humanoid Robotics"
"""The book that the published sentence names; a refusal names the book that was asked."""
OFF_TOPIC_SCORE = DEFAULT_SCORE_THRESHOLD
"""If no passage has this score, nothing in the book is near the question."""


@dataclass
class AgentConfig:
    """How to ask: `tool_choice` "none" forbids the search and "auto" leaves it to the language model.

    `model` is one of the endpoint of the settings, `collection_name` a book of the same index, and `k` the most chunks
    that one search returns. The default model and collection are those of the open book.
    """

    model: str = "gpt-4o-mini"
    temperature: float = 0.0
    k: int = DEFAULT_K
    score_threshold: float = DEFAULT_SCORE_THRESHOLD
    tool_choice: str = "required"
    collection_name: str = "textbook_chunks"


@dataclass
class RetrievedChunk:
    """A chunk that a search found, with its similarity to the question."""

    text: str
    score: float
    source_url: str
    chunk_index: int
    chunk_id: str
    chapter: str = ""
    section: str = ""
    title: str = ""


@dataclass
class RetrievalResult:
    """The chunks that a search found, best first."""

    query: str
    chunks: list[RetrievedChunk] = field(default_factory=list)
    collection: str = "textbook_chunks"

    @property
    def count(self) -> int:
        return len(self.chunks)


@dataclass
class AssembledContext:
    """Chunks as one text, their number, the length of the text, and each source once."""

    formatted_text: str
    chunk_count: int
    total_chars: int
    sources: list[str] = field(default_factory=list)


@dataclass
class GroundingContext:
    """The chunks that an answer may use, or why there must be no answer."""

    chunks: list[RetrievedChunk]
    formatted_text: str
    should_refuse: bool
    refusal_reason: str = ""
    max_score: float = 0.0
    query: str = ""

    @property
    def source_count(self) -> int:
        return len({chunk.source_url for chunk in self.chunks})

    @property
    def has_context(self) -> bool:
        return len(self.chunks) > 0 and not self.should_refuse


@dataclass
class Citation:
    """A chunk that supports the answer."""

    source_url: str
    chapter: str
    section: str
    score: float
    chunk_index: int

    def format(self) -> str:
        return (
            f"[Source: {self.source_url} | Chapter: {self.chapter} | Section: {self.section} | Score: {self.score:.2f}]"
        )


@dataclass
class AgentResponse:
    """An answer from the book, or a refusal; everything after the retrieval counts as generation."""

    answer: str
    citations: list[Citation]
    query: str
    grounded: bool
    refused: bool
    retrieval_time_ms: float = 0.0
    generation_time_ms: float = 0.0
    tool_calls: list[str] = field(default_factory=list)

    @property
    def total_time_ms(self) -> float:
        return self.retrieval_time_ms + self.generation_time_ms


def validate_config(config: AgentConfig) -> tuple[AgentConfig, str | None]:
    """The configuration and the first rule it breaks."""
    if not isinstance(config.k, int) or not is_in_range(config.k, MIN_K, MAX_K):
        return config, f"K must be {MIN_K}-{MAX_K}, got {config.k}"
    if not is_in_range(config.score_threshold, 0.0, 1.0):
        return config, f"Score threshold must be 0.0-1.0, got {config.score_threshold}"
    if config.tool_choice not in ("required", "auto", "none"):
        return config, f"Invalid tool_choice: {config.tool_choice}"
    if not is_in_range(config.temperature, 0.0, 2.0):
        return config, f"Temperature must be 0.0-2.0, got {config.temperature}"
    return config, None
