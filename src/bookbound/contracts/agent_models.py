"""Defines the entities, constants and validation rules of contract 002."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Literal, get_args

from bookbound.domain.errors import InvalidInputError

DEFAULT_TOP_K = 5
DEFAULT_RELEVANCE_THRESHOLD = 0.5
MAX_TOP_K = 20
MAX_QUERY_LENGTH = 2000
COLLECTION_NAME = "physical-ai-textbook"
"""The collection that the contract names; which one is asked is for the setting `qdrant_collection` to say."""
ErrorType = Literal["validation", "retrieval", "generation", "no_context"]
URL_PATTERN = re.compile(r"(?:https?://[^\s/?#]+|/(?!/))\S*", re.IGNORECASE)
_SURROGATES = re.compile("[\ud800-\udfff]")


class QueryState(StrEnum):
    """What is being done with a query, in this order, until it is complete or in error."""

    RECEIVED = "RECEIVED"
    VALIDATING = "VALIDATING"
    RETRIEVING = "RETRIEVING"
    GENERATING = "GENERATING"
    COMPLETE = "COMPLETE"
    ERROR = "ERROR"


@dataclass(frozen=True, slots=True)
class SearchResult:
    """A passage of the book that a search found; a value outside the contract's rules is a `ValueError`."""

    score: float
    content: str
    source_url: str
    section_title: str
    chunk_id: str
    chapter: str
    page_title: str
    position: int
    content_hash: str

    def __post_init__(self) -> None:
        _require(
            (_is_in_range(self.score, 0.0, 1.0), "score must be between 0.0 and 1.0"),
            (bool(self.content), "content must not be empty"),
            (
                bool(URL_PATTERN.fullmatch(self.source_url)),
                "source_url must be an http(s) URL or a path that begins with /",
            ),
            (bool(self.chunk_id), "chunk_id must not be empty"),
        )


@dataclass(frozen=True, slots=True)
class ResultSet:
    """What a search found, best first, and how long it took: `query_time_ms` is the time to embed the query."""

    query: str
    results: list[SearchResult]
    total_count: int
    query_time_ms: float
    search_time_ms: float
    total_time_ms: float


@dataclass(frozen=True, slots=True)
class AgentQuery:
    """A question, without outer white space; one that breaks a rule is `InvalidInput`."""

    text: str
    top_k: int = DEFAULT_TOP_K
    relevance_threshold: float = DEFAULT_RELEVANCE_THRESHOLD

    def __post_init__(self) -> None:
        if not isinstance(self.text, str) or _SURROGATES.search(self.text):
            raise InvalidInputError("The question must be text.")
        object.__setattr__(self, "text", self.text.strip())
        if not 1 <= len(self.text) <= MAX_QUERY_LENGTH:
            raise InvalidInputError(f"The question has {len(self.text)} characters; give 1 to {MAX_QUERY_LENGTH}.")
        if not isinstance(self.top_k, int) or not _is_in_range(self.top_k, 1, MAX_TOP_K):
            raise InvalidInputError(f"top_k must be a whole number between 1 and {MAX_TOP_K}.")
        if not _is_in_range(self.relevance_threshold, 0.0, 1.0):
            raise InvalidInputError("relevance_threshold must be between 0.0 and 1.0.")


@dataclass(frozen=True, slots=True)
class SourceCitation:
    """A place in the book that the answer rests on."""

    chapter: str
    section: str
    url: str
    relevance_score: float


@dataclass(frozen=True, slots=True)
class AgentResponse:
    """An answer with its sources, or, without relevant context, the sentence that the book does not say."""

    answer: str
    sources: list[SourceCitation]
    has_relevant_context: bool
    retrieval_time_ms: float
    generation_time_ms: float
    total_time_ms: float

    def __post_init__(self) -> None:
        times = (self.retrieval_time_ms, self.generation_time_ms, self.total_time_ms)
        _require(
            (bool(self.answer.strip()), "answer must not be empty"),
            (bool(self.sources) or not self.has_relevant_context, "an answer from relevant context has sources"),
            (all(time >= 0 for time in times), "times must not be negative"),
        )


@dataclass(frozen=True, slots=True)
class AgentError:
    """Why there is no response: `message` is for the reader, `details` is for a log and never shown."""

    error_type: ErrorType
    message: str
    details: str | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        _require(
            (self.error_type in get_args(ErrorType), "error_type must be one of the contract's four"),
            (bool(self.message.strip()), "message must not be empty"),
        )


def _is_in_range(value: float, low: float, high: float) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and low <= value <= high


def _require(*rules: tuple[bool, str]) -> None:
    for kept, rule in rules:
        if not kept:
            raise ValueError(rule)
