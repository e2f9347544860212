"""Implements contract 001: `POST /chat` returns an answer with source links, scores and metadata."""

from __future__ import annotations

import re
import uuid
from collections.abc import Mapping
from itertools import groupby
from typing import Annotated, Any, Self
from urllib.parse import quote

from fastapi import APIRouter, Request
from pydantic import BaseModel, Field, StrictInt, StringConstraints, field_validator

from bookbound.contracts.http_contract import AnswerBackend, HttpContract, Problem, ProblemKind
from bookbound.domain.chunk import Passage
from bookbound.domain.question import SELECTION_CHUNK_ID, AnswerScope, Question, Retrieval
from bookbound.domain.reply import Answer, AnswerSentence, Reply, join_sentences

EMPTY_QUESTION_MESSAGE = "Question cannot be empty or whitespace-only"
ERROR_CODES = {
    ProblemKind.INVALID: "validation_error",
    ProblemKind.LIMIT: "rate_limit_exceeded",
    ProblemKind.BUSY: "service_unavailable",
    ProblemKind.UNREACHABLE: "service_unavailable",
    ProblemKind.INDEX: "service_unavailable",
    ProblemKind.TIMED_OUT: "timeout",
}
_MARKDOWN_SPECIAL = re.compile(r"[\\`*_~\[\]<>&|]")
_LINK_BREAKING = re.compile(r"[\s\x00-\x1f\x7f()<>\\]")


class ChatRequest(BaseModel):
    """A question; words of the book that are selected come first, and the book's best chunks after them."""

    question: Annotated[str, StringConstraints(strip_whitespace=True, max_length=2000)] = Field(
        description="The question", json_schema_extra={"minLength": 1, "pattern": r"\S"}
    )
    selected_text: Annotated[str, StringConstraints(strip_whitespace=True, max_length=5000)] | None = Field(
        default=None, description="The passage that the reader selected"
    )
    top_k: StrictInt = Field(default=5, ge=1, le=20, description="How many chunks to retrieve")

    @field_validator("question")
    @classmethod
    def _says_something(cls, question: str) -> str:
        if not question:
            raise ValueError(EMPTY_QUESTION_MESSAGE)
        return question

    def asked(self) -> Question:
        return Question(self.question, self.selected_text, AnswerScope.SELECTION_THEN_BOOK, self.top_k)


class RetrievalResult(BaseModel):
    """A chunk that an answer may rest on, with its address."""

    text: str
    source_url: str
    title: str
    chunk_id: str
    score: float

    @classmethod
    def of(cls, passage: Passage) -> Self:
        """The title is the page's, and the section's where that is another."""
        chunk, place = passage.chunk, passage.chunk.place
        names = dict.fromkeys(" ".join(name.split()) for name in (place.title, place.section))
        return cls(
            text=chunk.text,
            source_url=_LINK_BREAKING.sub(lambda found: quote(found[0], safe=""), place.link),
            title=" › ".join(filter(None, names)),
            chunk_id=chunk.id,
            score=passage.score,
        )

    @property
    def mark(self) -> str:
        """A Markdown link to the source, whatever its title holds."""
        title = _MARKDOWN_SPECIAL.sub(r"\\\g<0>", self.title)
        return f"[Source: {title}]({self.source_url})"


class RetrievalContext(BaseModel):
    """What a writer is given; never sent to a client."""

    chunks: list[RetrievalResult]
    selected_text: str | None = None
    query: str

    @classmethod
    def of(cls, question: Question, retrieval: Retrieval) -> Self:
        return cls(
            chunks=[RetrievalResult.of(passage) for passage in _retrieved_passages(retrieval)],
            selected_text=question.selection,
            query=question.text,
        )


def _retrieved_passages(retrieval: Retrieval) -> list[Passage]:
    """What the search found; the selection was brought along."""
    return [passage for passage in retrieval.passages if passage.chunk.id != SELECTION_CHUNK_ID]


class Citation(BaseModel):
    """A source that the answer used."""

    source_url: str = Field(description="Where the source stands; empty for a selection that is not from the book")
    title: str = Field(description="The page and the section")
    chunk_id: str
    relevance_score: float = Field(ge=0, le=1, description="The chunk's similarity to the question")

    @classmethod
    def from_retrieval_result(cls, result: Mapping[str, Any]) -> Self:
        return cls(
            source_url=result["source_url"],
            title=result["title"],
            chunk_id=result["chunk_id"],
            relevance_score=result["score"],
        )


class ResponseMetadata(BaseModel):
    """How the answer came to be."""

    request_id: str = Field(default_factory=lambda: str(uuid.uuid4()))
    processing_time_ms: float = Field(ge=0)
    retrieval_count: int = Field(ge=0, description="How many chunks were retrieved, the selection not counted")
    model_used: str = Field(description="What wrote the answer")


class ChatResponse(BaseModel):
    """An answer whose text marks its sources, or the plain statement that the book does not say."""

    answer: str
    citations: list[Citation] = Field(default_factory=list)
    metadata: ResponseMetadata

    @classmethod
    def of(cls, reply: Reply, request_id: str) -> Self:
        sources = {p.chunk.id: RetrievalResult.of(p) for p in reply.passages} if isinstance(reply, Answer) else {}
        return cls(
            answer=_add_source_links(reply, sources) if isinstance(reply, Answer) else reply.text,
            citations=[Citation.from_retrieval_result(source.model_dump()) for source in sources.values()],
            metadata=ResponseMetadata(
                request_id=request_id,
                processing_time_ms=reply.trace.total_ms,
                retrieval_count=len(_retrieved_passages(reply.trace.retrieval)),
                model_used=reply.trace.writer,
            ),
        )


def _add_source_links(answer: Answer, sources: Mapping[str, RetrievalResult]) -> str:
    """The sentences, with the marks of their sources after each run that rests on the same, and the reservation."""
    pieces: list[AnswerSentence | str] = []
    for chunk_ids, run in groupby(answer.sentences, _cited_chunk_ids):
        pieces += run
        pieces += [sources[chunk_id].mark for chunk_id in chunk_ids]
    return join_sentences([*pieces, answer.reservation] if answer.reservation else pieces)


def _cited_chunk_ids(sentence: AnswerSentence) -> tuple[str, ...]:
    return tuple(dict.fromkeys(evidence.chunk_id for evidence in sentence.evidence))


class ErrorResponse(BaseModel):
    """What went wrong, which fields broke which rules, and how many seconds to wait."""

    error: str = Field(description="A code: validation_error, rate_limit_exceeded, service_unavailable, timeout …")
    message: str
    details: dict[str, str] | None = Field(default=None, description="The rule that each field breaks")
    retry_after: int | None = Field(default=None, ge=0)


def build_error_body(problem: Problem, request_id: str) -> ErrorResponse:
    return ErrorResponse(
        error=ERROR_CODES.get(problem.kind, problem.kind.value),
        message=problem.message,
        details=dict(problem.fields) or None,
        retry_after=problem.retry_after,
    )


ERROR_RESPONSES: dict[int | str, dict[str, Any]] = {
    status: {"model": ErrorResponse} for status in (401, 403, 413, 415, 422, 429, 500, 503, 504)
}


def build_router(desk: AnswerBackend) -> APIRouter:
    router = APIRouter(tags=["chat"])

    @router.post("/api/v1/chat", responses=ERROR_RESPONSES)
    @router.post("/chat", responses=ERROR_RESPONSES)
    async def chat(asked: ChatRequest, request: Request) -> ChatResponse:
        """Answer from the selected words and the book, with a mark after what rests on a source."""
        return ChatResponse.of(await desk.ask(asked.asked()), request.state.request_id)

    return router


CONTRACT = HttpContract(paths=("/chat", "/api/v1/chat"), routes=build_router, body=build_error_body)
