"""Implements contract 001: `POST /chat` returns an answer with source links, scores and metadata."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from itertools import groupby
from typing import Annotated, Any, Self

from fastapi import APIRouter
from pydantic import BaseModel, Field, StringConstraints, field_validator

from bookbound.contracts import http_contract
from bookbound.contracts.request_context import RequestContext
from bookbound.contracts.source_url import build_markdown_link, build_source_url
from bookbound.domain.chunk import Passage
from bookbound.domain.errors import InvalidInputError
from bookbound.domain.question import (
    MAX_TURN_ANSWER_CHARS,
    MAX_TURNS,
    SELECTION_CHUNK_ID,
    AnswerScope,
    Question,
    Retrieval,
    Turn,
)
from bookbound.domain.reply import Answer, AnswerSentence, Reply, Unsure, join_sentences

EMPTY_QUESTION_MESSAGE = "Question cannot be empty or whitespace-only"
# The codes that the contract names; every other problem has the code of our own API.
ERROR_CODES = {
    http_contract.ProblemKind.INVALID: "validation_error",
    http_contract.ProblemKind.LIMIT: "rate_limit_exceeded",
    http_contract.ProblemKind.BUSY: "service_unavailable",
    http_contract.ProblemKind.UNREACHABLE: "service_unavailable",
    http_contract.ProblemKind.INDEX: "service_unavailable",
    http_contract.ProblemKind.TIMED_OUT: "timeout",
}


class ChatRequest(BaseModel):
    """A question; a selected passage is read first, then the best chunks of the book."""

    question: Annotated[str, StringConstraints(strip_whitespace=True, max_length=2000)] = Field(
        description="The question",
        examples=["What is a service in ROS 2?"],
        json_schema_extra={"minLength": 1, "pattern": r"\S"},
    )
    selected_text: Annotated[str, StringConstraints(strip_whitespace=True, max_length=5000)] | None = Field(
        default=None, description="The passage that the reader selected"
    )
    top_k: int = Field(default=5, ge=1, le=20, description="How many chunks to retrieve")
    history: Any = Field(
        default=None,
        description="The earlier messages, each with role and content, or with question and answer, oldest first;"
        " anything else is ignored",
    )

    @field_validator("question")
    @classmethod
    def _is_not_empty(cls, question: str) -> str:
        if not question:
            raise ValueError(EMPTY_QUESTION_MESSAGE)
        return question

    def to_question(self) -> Question:
        scope, turns = AnswerScope.SELECTION_THEN_BOOK, parse_history(self.history, self.question)
        return Question(self.question, self.selected_text, scope, self.top_k, conversation=turns, hides_unverified=True)


def parse_history(history: Any, question: str) -> tuple[Turn, ...]:
    """The last turns of a history, whose shape nobody fixed.

    The contract ignores fields that it does not know, so what is no turn is skipped.
    """
    turns: list[Turn] = []
    for message in history if isinstance(history, list) else ():
        fields = message.items() if isinstance(message, dict) else ()
        texts = {name: text for name, text in fields if isinstance(text, str)}
        content = texts.get("content", "")
        asked = content if texts.get("role") == "user" else texts.get("question", "")
        if asked.strip():
            turns.append(Turn(asked.strip(), texts.get("answer", "")))
        elif turns and texts.get("role") == "assistant":
            turns[-1] = turns[-1]._replace(answer=content)
    if turns and turns[-1] == Turn(question):  # some clients also send the question as the last message
        turns.pop()
    fitting = [turn._replace(answer=turn.answer[:MAX_TURN_ANSWER_CHARS]) for turn in turns]
    return tuple(filter(_is_usable, fitting))[-MAX_TURNS:]


def _is_usable(turn: Turn) -> bool:
    try:
        turn.check()
    except InvalidInputError:
        return False
    return True


class RetrievalResult(BaseModel):
    """A chunk that an answer may use, with its address."""

    text: str
    source_url: str
    title: str
    chunk_id: str
    score: float

    @classmethod
    def from_passage(cls, passage: Passage) -> Self:
        """The title is that of the page, followed by that of the section if it differs."""
        chunk, place = passage.chunk, passage.chunk.place
        names = dict.fromkeys(" ".join(name.split()) for name in (place.title, place.section))
        return cls(
            text=chunk.text,
            source_url=build_source_url(place),
            title=" › ".join(filter(None, names)),
            chunk_id=chunk.id,
            score=passage.score,
        )

    @property
    def link(self) -> str:
        """A Markdown link to the source, safe for any title."""
        return build_markdown_link(f"Source: {self.title}", self.source_url)


class RetrievalContext(BaseModel):
    """What a writer reads; never sent to a client."""

    chunks: list[RetrievalResult]
    selected_text: str | None = None
    query: str

    @classmethod
    def from_retrieval(cls, question: Question, retrieval: Retrieval) -> Self:
        return cls(
            chunks=[RetrievalResult.from_passage(passage) for passage in _retrieved_passages(retrieval)],
            selected_text=question.selection,
            query=question.text,
        )


def _retrieved_passages(retrieval: Retrieval) -> list[Passage]:
    """The passages without the selection, which the reader supplied."""
    return [passage for passage in retrieval.passages if passage.chunk.id != SELECTION_CHUNK_ID]


class Citation(BaseModel):
    """A source that the answer used."""

    source_url: str = Field(
        min_length=1, description="The link to the source; #selected_text for a selection that is not from the book"
    )
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
    """How the answer was made."""

    request_id: str = Field(default_factory=lambda: str(uuid.uuid4()))
    processing_time_ms: float = Field(ge=0)
    retrieval_count: int = Field(ge=0, description="How many chunks were retrieved, without the selection")
    model_used: str = Field(description="What wrote the answer")
    completed_question: str | None = Field(default=None, description="A follow-up as it was understood; else absent")


class ChatResponse(BaseModel):
    """An answer with source links in its text, or the statement that the book does not say."""

    answer: str
    citations: list[Citation] = Field(default_factory=list)
    metadata: ResponseMetadata

    @classmethod
    def from_reply(cls, reply: Reply, request_id: str) -> Self:
        reply = reply.to_refusal() if isinstance(reply, Unsure) else reply
        used = reply.passages if isinstance(reply, Answer) else ()
        sources = {passage.chunk.id: RetrievalResult.from_passage(passage) for passage in used}
        return cls(
            answer=_add_source_links(reply, sources) if isinstance(reply, Answer) else reply.text,
            citations=[Citation.from_retrieval_result(source.model_dump()) for source in sources.values()],
            metadata=ResponseMetadata(
                request_id=request_id,
                processing_time_ms=reply.trace.total_ms,
                retrieval_count=len(_retrieved_passages(reply.trace.retrieval)),
                model_used=reply.trace.writer,
                completed_question=reply.trace.completed_question or None,
            ),
        )


def _add_source_links(answer: Answer, sources: Mapping[str, RetrievalResult]) -> str:
    """The sentences, each group that cites the same sections followed by their links, and the reservation."""

    def find_links(sentence: AnswerSentence) -> tuple[str, ...]:
        return tuple(dict.fromkeys(sources[evidence.chunk_id].link for evidence in sentence.evidence))

    pieces: list[AnswerSentence | str] = []
    for links, group in groupby(answer.sentences, find_links):
        pieces += [*group, *links]
    return join_sentences(pieces, answer.trace.note, answer.reservation)


class ErrorResponse(BaseModel):
    """What went wrong, which fields break which rules, and how many seconds to wait."""

    error: str = Field(description="A code: validation_error, rate_limit_exceeded, service_unavailable, timeout …")
    message: str
    details: dict[str, str] | None = Field(default=None, description="The rule that each field breaks")
    retry_after: int | None = Field(default=None, ge=0)


def build_error_body(problem: http_contract.Problem, context: RequestContext) -> ErrorResponse:
    return ErrorResponse(
        error=ERROR_CODES.get(problem.kind, problem.kind.value),
        message=problem.message,
        details=dict(problem.fields) or None,
        retry_after=problem.retry_after,
    )


def build_router(backend: http_contract.AnswerBackend) -> APIRouter:
    router = APIRouter(
        tags=["chat"],
        route_class=http_contract.QuestionRoute,
        responses=http_contract.error_responses(ErrorResponse, 422),
    )

    @router.post("/api/v1/chat", response_model_exclude_none=True)
    @router.post("/chat", response_model_exclude_none=True)
    async def chat(body: ChatRequest, context: http_contract.Context) -> ChatResponse:
        """Answer from the selected passage and the book, with links to the sources in the text."""
        return ChatResponse.from_reply(await backend.ask(body.to_question(), context), context.record.request_id)

    return router


CONTRACT = http_contract.HttpContract(("/chat", "/api/v1/chat"), build_router, build_error_body)
