"""Implements contract 002: an `AgentQuery` returns an `AgentResponse` or an `AgentError`."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from urllib.parse import quote

from bookbound.contracts import serialization
from bookbound.contracts.agent_models import (
    COLLECTION_NAME,
    DEFAULT_RELEVANCE_THRESHOLD,
    DEFAULT_TOP_K,
    MAX_QUERY_LENGTH,
    MAX_TOP_K,
    URL_PATTERN,
    AgentError,
    AgentQuery,
    AgentResponse,
    ErrorType,
    QueryState,
    ResultSet,
    SearchResult,
    SourceCitation,
)
from bookbound.domain.chunk import Passage, Place
from bookbound.domain.errors import BookboundError, BookIndexError, ConfigError, InvalidInputError, ServiceError
from bookbound.domain.reply import NOT_IN_BOOK_MESSAGE, Answer
from bookbound.library import Book

__all__ = [
    "COLLECTION_NAME",
    "DEFAULT_RELEVANCE_THRESHOLD",
    "DEFAULT_TOP_K",
    "MAX_QUERY_LENGTH",
    "MAX_TOP_K",
    "AgentError",
    "AgentQuery",
    "AgentResponse",
    "QueryState",
    "ResultSet",
    "SearchResult",
    "SourceCitation",
    "ask",
    "ask_or_raise",
    "error_from_exception",
    "format_context",
    "semantic_search",
]
RETRIEVAL_SERVICES = frozenset({"qdrant", "cohere", "embeddings"})
FAILURE_STATES: dict[ErrorType, QueryState] = {
    "validation": QueryState.VALIDATING,
    "retrieval": QueryState.RETRIEVING,
    "no_context": QueryState.RETRIEVING,
    "generation": QueryState.GENERATING,
}


def ask(query: AgentQuery | str, book: Book) -> AgentResponse | AgentError:
    """The book's answer, or an error whose type says what failed."""
    try:
        return ask_or_raise(query if isinstance(query, AgentQuery) else AgentQuery(query), book)
    except BookboundError as trouble:
        return error_from_exception(trouble)


def ask_or_raise(query: AgentQuery, book: Book) -> AgentResponse | AgentError:
    """The same, but what fails is raised; `no_context` says that no passage comes up to the threshold."""
    reply = book.ask(query.text, k=query.top_k, threshold=query.relevance_threshold, fall_back=False)
    best = max((passage.score for passage in reply.trace.retrieval.passages), default=None)
    if best is None or best < query.relevance_threshold:
        found = "nothing was found" if best is None else f"best score {best:.4f} < {query.relevance_threshold}"
        return AgentError("no_context", NOT_IN_BOOK_MESSAGE, f"{FAILURE_STATES['no_context']}: {found}")
    return AgentResponse(
        answer=reply.full_text if isinstance(reply, Answer) else reply.text,
        sources=_collect_sources(reply) if isinstance(reply, Answer) else [],
        has_relevant_context=isinstance(reply, Answer),
        retrieval_time_ms=reply.trace.retrieval_ms,
        generation_time_ms=reply.trace.generation_ms,
        total_time_ms=reply.trace.total_ms,
    )


def error_from_exception(trouble: Exception) -> AgentError:
    """What failed in the contract's words; what is neither input nor retrieval kept the answer from being made."""
    kind: ErrorType = "generation"
    if isinstance(trouble, InvalidInputError | ConfigError):
        kind = "validation"
    elif isinstance(trouble, BookIndexError | OSError) or getattr(trouble, "service", "") in RETRIEVAL_SERVICES:
        kind = "retrieval"
    service = f" of {trouble.service}" if isinstance(trouble, ServiceError) else ""
    cause = f" from {type(trouble.__cause__).__name__}" if trouble.__cause__ else ""
    details = f"{FAILURE_STATES[kind]}: {type(trouble).__name__}{service}{cause}"
    return AgentError(kind, serialization.serialize_error(trouble)["error"]["message"], details)


def semantic_search(query: str, book: Book, top_k: int = DEFAULT_TOP_K) -> ResultSet:
    """The passages nearest to a query, without a judgement."""
    asked = AgentQuery(query, top_k)
    found = book.retrieve(asked.text, k=asked.top_k)
    results = [_build_search_result(passage) for passage in found.passages]
    total = found.embed_ms + found.search_ms
    return ResultSet(asked.text, results, len(results), found.embed_ms, found.search_ms, total)


def format_context(results: Sequence[SearchResult]) -> str:
    """Results as numbered blocks for a language model: address, then the words as they are."""
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
    """The places that the answer rests on, each once, in the order of the sentences."""
    scores = {passage.chunk.id: passage.score for passage in answer.passages}
    sources: dict[str, SourceCitation] = {}
    for evidence in answer.citations:
        place, score = evidence.place, scores[evidence.chunk_id]
        if (url := _place_url(place)) not in sources or sources[url].relevance_score < score:
            sources[url] = SourceCitation(place.chapter, place.section, url, score)
    return list(sources.values())


def _place_url(place: Place) -> str:
    """The link to a place, or its file where the book's own address is no valid one."""
    return place.link if URL_PATTERN.fullmatch(place.link) else "/" + quote(place.file)
