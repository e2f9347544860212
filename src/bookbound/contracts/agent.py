"""Implements contract 002: an `AgentQuery` returns an `AgentResponse` or an `AgentError`."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Literal, get_args

from bookbound.contracts.serialization import serialize_error
from bookbound.contracts.source_url import URL_PATTERN, build_source_url
from bookbound.domain.chunk import Passage, Place
from bookbound.domain.errors import BookboundError, BookIndexError, ConfigError, InvalidInputError, ServiceError
from bookbound.domain.question import QuestionKind
from bookbound.domain.reply import NOT_IN_BOOK_MESSAGE, Answer
from bookbound.domain.trace import StageClock
from bookbound.library import Book

DEFAULT_TOP_K = 5
DEFAULT_RELEVANCE_THRESHOLD = 0.5
MAX_TOP_K = 20
MAX_QUERY_LENGTH = 2000
COLLECTION_NAME = "physical-ai-textbook"
"""The collection that the contract names; the setting `qdrant_collection` decides which one is used."""
ErrorType = Literal["validation", "retrieval", "generation", "no_context"]
# Half a character cannot be encoded, so no embedder and no service could take the question.
_SURROGATES = re.compile("[\ud800-\udfff]")


class QueryState(StrEnum):
    """The states that a query passes through, in this order; `ERROR` may follow any of them."""

    RECEIVED = "RECEIVED"
    VALIDATING = "VALIDATING"
    RETRIEVING = "RETRIEVING"
    GENERATING = "GENERATING"
    COMPLETE = "COMPLETE"
    ERROR = "ERROR"


@dataclass(frozen=True, slots=True)
class SearchResult:
    """A passage that a search found; values that break the contract's rules raise `ValueError`."""

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
            (is_in_range(self.score, 0.0, 1.0), "score must be between 0.0 and 1.0"),
            (bool(self.content), "content must not be empty"),
            (bool(URL_PATTERN.fullmatch(self.source_url)), "source_url must be an http(s) URL or begin with /"),
            (bool(self.chunk_id), "chunk_id must not be empty"),
        )


@dataclass(frozen=True, slots=True)
class ResultSet:
    """The results of a search, best first.

    `query_time_ms` is the time to embed the query; `total_time_ms` also has the time to read what was found.
    """

    query: str
    results: list[SearchResult]
    total_count: int
    query_time_ms: float
    search_time_ms: float
    total_time_ms: float


@dataclass(frozen=True, slots=True)
class AgentQuery:
    """A question without outer white space; breaking a rule raises `InvalidInputError`."""

    text: str
    top_k: int = DEFAULT_TOP_K
    relevance_threshold: float = DEFAULT_RELEVANCE_THRESHOLD

    def __post_init__(self) -> None:
        if not isinstance(self.text, str) or _SURROGATES.search(self.text):
            raise InvalidInputError("The question must be text.")
        object.__setattr__(self, "text", self.text.strip())
        if not 1 <= len(self.text) <= MAX_QUERY_LENGTH:
            raise InvalidInputError(f"The question has {len(self.text)} characters; give 1 to {MAX_QUERY_LENGTH}.")
        if not isinstance(self.top_k, int) or not is_in_range(self.top_k, 1, MAX_TOP_K):
            raise InvalidInputError(f"top_k must be a whole number between 1 and {MAX_TOP_K}.")
        if not is_in_range(self.relevance_threshold, 0.0, 1.0):
            raise InvalidInputError("relevance_threshold must be between 0.0 and 1.0.")


@dataclass(frozen=True, slots=True)
class SourceCitation:
    """A place in the book that supports the answer."""

    chapter: str
    section: str
    url: str
    relevance_score: float


@dataclass(frozen=True, slots=True)
class AgentResponse:
    """An answer with its sources, or the statement that the book does not say."""

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
    """Why there is no response: `message` is for the reader, `details` only for a log."""

    error_type: ErrorType
    message: str
    details: str | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        _require(
            (self.error_type in get_args(ErrorType), "error_type must be one of the contract's four"),
            (bool(self.message.strip()), "message must not be empty"),
        )


def is_in_range(value: object, low: float, high: float) -> bool:
    """Whether a value is a number from `low` to `high`; a boolean is not a number."""
    return isinstance(value, int | float) and not isinstance(value, bool) and low <= value <= high


def _require(*rules: tuple[bool, str]) -> None:
    for is_met, rule in rules:
        if not is_met:
            raise ValueError(rule)


RETRIEVAL_SERVICES = frozenset({"qdrant", "cohere", "embeddings"})
FAILURE_STATES: dict[ErrorType, QueryState] = {
    "validation": QueryState.VALIDATING,
    "retrieval": QueryState.RETRIEVING,
    "no_context": QueryState.RETRIEVING,
    "generation": QueryState.GENERATING,
}


def ask(query: AgentQuery | str, book: Book) -> AgentResponse | AgentError:
    """Answer from the book, or return an error whose type says what failed."""
    try:
        return ask_or_raise(query if isinstance(query, AgentQuery) else AgentQuery(query), book)
    except BookboundError as error:
        return error_from_exception(error)


def ask_or_raise(query: AgentQuery, book: Book) -> AgentResponse | AgentError:
    """Answer from the book and raise failures; only `no_context`, no passage above the threshold, is returned."""
    threshold = query.relevance_threshold
    reply = book.ask(query.text, k=query.top_k, threshold=threshold, allow_fallback=False, hides_unverified=True)
    is_searched = reply.trace.question_kind is not QuestionKind.OTHER_LANGUAGE
    best = max((passage.score for passage in reply.trace.retrieval.passages), default=None)
    if is_searched and (best is None or best < threshold):
        found = "nothing was found" if best is None else f"best score {best:.4f} < {threshold}"
        return AgentError("no_context", NOT_IN_BOOK_MESSAGE, f"{FAILURE_STATES['no_context']}: {found}")
    refusal = NOT_IN_BOOK_MESSAGE if is_searched else reply.text
    return AgentResponse(
        answer=reply.full_text if isinstance(reply, Answer) else refusal,
        sources=_collect_sources(reply) if isinstance(reply, Answer) else [],
        has_relevant_context=isinstance(reply, Answer),
        retrieval_time_ms=reply.trace.retrieval_ms,
        generation_time_ms=reply.trace.generation_ms,
        total_time_ms=reply.trace.total_ms,
    )


def error_from_exception(error: Exception) -> AgentError:
    """An error in the contract's words; an error of neither the input nor the retrieval counts as generation."""
    kind: ErrorType = "generation"
    if isinstance(error, InvalidInputError | ConfigError):
        kind = "validation"
    elif isinstance(error, BookIndexError | OSError) or getattr(error, "service", "") in RETRIEVAL_SERVICES:
        kind = "retrieval"
    service = f" of {error.service}" if isinstance(error, ServiceError) else ""
    cause = f" from {type(error.__cause__).__name__}" if error.__cause__ else ""
    details = f"{FAILURE_STATES[kind]}: {type(error).__name__}{service}{cause}"
    return AgentError(kind, serialize_error(error)["error"]["message"], details)


def semantic_search(query: str, book: Book, top_k: int = DEFAULT_TOP_K) -> ResultSet:
    """The passages nearest to a query, without a judgement."""
    request = AgentQuery(query, top_k)
    clock = StageClock()
    results = [_build_search_result(passage) for passage in book.search(request.text, k=request.top_k, clock=clock)]
    embed_ms, search_ms = (1000 * clock.stages[stage].seconds for stage in ("embed", "search"))
    return ResultSet(request.text, results, len(results), embed_ms, search_ms, 1000 * clock.elapsed_seconds)


def format_context(results: Sequence[SearchResult]) -> str:
    """Results as numbered blocks for a language model: address, then text."""
    return "\n\n".join(
        f"[{number}] {' > '.join(filter(None, (each.chapter, each.section_title)))} ({each.source_url})\n{each.content}"
        for number, each in enumerate(results, 1)
    )


def _build_search_result(passage: Passage) -> SearchResult:
    chunk = passage.chunk
    return SearchResult(
        score=passage.score,
        content=chunk.text,
        source_url=_place_url(chunk.place),
        section_title=chunk.place.section,
        chunk_id=chunk.id,
        chapter=chunk.place.chapter,
        page_title=chunk.place.title,
        position=chunk.position,
        content_hash=hashlib.md5(chunk.text.encode(), usedforsecurity=False).hexdigest(),
    )


def _collect_sources(answer: Answer) -> list[SourceCitation]:
    """The cited places, each once, in the order of the sentences."""
    scores = {passage.chunk.id: passage.score for passage in answer.passages}
    sources: dict[str, SourceCitation] = {}
    for evidence in answer.citations:
        place, score = evidence.place, scores[evidence.chunk_id]
        if (url := _place_url(place)) not in sources or sources[url].relevance_score < score:
            sources[url] = SourceCitation(place.chapter, place.section, url, score)
    return list(sources.values())


def _place_url(place: Place) -> str:
    """The address of a place, from the root if it is not a URL."""
    url = build_source_url(place)
    return url if URL_PATTERN.fullmatch(url) else f"/{url}"
