"""Implements contract 000: `POST /ask` returns an answer with its chunks or a fixed refusal sentence."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Literal, Self

from fastapi import APIRouter
from pydantic import BaseModel, BeforeValidator, Field, StringConstraints, model_validator

from bookbound.contracts import http_contract
from bookbound.contracts.request_context import RequestContext
from bookbound.contracts.serialization import truncate
from bookbound.domain.chunk import Passage
from bookbound.domain.judgement import Judgement, RetrievalQuality
from bookbound.domain.question import SELECTION_CHUNK_ID, AnswerScope, Question
from bookbound.domain.reply import MAX_ANSWER_SENTENCES, NOT_IN_BOOK_MESSAGE, Answer, Reply

# A longer chunk is cut and not rejected: the contract limits the field, and our chunks may be longer.
MAX_CHUNK_TEXT_CHARS = 2000


def _truncate_text(value: Any) -> Any:
    return truncate(value, MAX_CHUNK_TEXT_CHARS) if isinstance(value, str) else value


class AskRequest(BaseModel):
    """A question; if the reader selected a passage, it is answered from the selection alone."""

    question: Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=1000)] = Field(
        description="The question", examples=["What is a service in ROS 2?"], json_schema_extra={"pattern": r"\S"}
    )
    selected_text: Annotated[str, StringConstraints(strip_whitespace=True, max_length=10000)] | None = Field(
        default=None, description="The passage that the reader selected"
    )

    def to_question(self) -> Question:
        return Question(
            self.question,
            self.selected_text,
            AnswerScope.SELECTION,
            max_sentences=MAX_ANSWER_SENTENCES,
            hides_unverified=True,
        )


class ChunkReference(BaseModel):
    """A chunk that the answer used; a text over 2000 characters is truncated and ends in three dots."""

    chunk_id: str = Field(min_length=1)
    text: Annotated[str, BeforeValidator(_truncate_text)] = Field(min_length=1, max_length=MAX_CHUNK_TEXT_CHARS)
    page: int | None = Field(default=None, gt=0)
    chapter: str | None = None
    section: str | None = None

    @classmethod
    def from_passage(cls, passage: Passage) -> Self:
        chunk, place = passage.chunk, passage.chunk.place
        if chunk.id == SELECTION_CHUNK_ID:
            return cls(chunk_id=chunk.id, text=chunk.text)
        return cls(
            chunk_id=chunk.id,
            text=chunk.text,
            page=place.page,
            chapter=place.chapter or None,
            section=place.section or None,
        )


class ValidationResult(BaseModel):
    """The judgement of the retrieved chunks."""

    relevant_chunks: list[str]
    answer_present: bool
    evidence: list[str]
    retrieval_quality: RetrievalQuality

    @classmethod
    def from_judgement(cls, judgement: Judgement) -> Self:
        return cls(
            relevant_chunks=list(judgement.relevant_chunk_ids),
            answer_present=judgement.answer_present,
            evidence=[evidence.text for evidence in judgement.evidence],
            retrieval_quality=judgement.quality,
        )


class AgentContext(BaseModel):
    """Everything that a writer needs to answer; never sent to a client."""

    context_text: str = Field(min_length=1, pattern=r"\S")
    context_type: Literal["retrieval", "selected_text"]
    validation_result: ValidationResult | None
    source_metadata: list[dict[str, str | int | None]] = Field(min_length=1)

    @model_validator(mode="after")
    def _metadata_fits_the_context_type(self) -> Self:
        ids = [source.get("chunk_id") for source in self.source_metadata]
        if self.context_type == "selected_text":
            if ids != [SELECTION_CHUNK_ID] or self.validation_result is not None:
                raise ValueError("a selection is its own only source and has no validation result")
        elif not all(ids) or SELECTION_CHUNK_ID in ids or self.validation_result is None:
            raise ValueError("retrieved chunks have an id each and a validation result")
        return self

    @classmethod
    def from_passages(cls, question: Question, passages: Sequence[Passage], judgement: Judgement) -> Self:
        """Each passage under its id and its headings, or the selection alone."""
        selected = question.scope is AnswerScope.SELECTION
        return cls(
            context_text="\n\n".join(p.chunk.text if selected else _format_passage(p) for p in passages),
            context_type="selected_text" if selected else "retrieval",
            validation_result=None if selected else ValidationResult.from_judgement(judgement),
            source_metadata=[ChunkReference.from_passage(passage).model_dump(exclude={"text"}) for passage in passages],
        )


def _format_passage(passage: Passage) -> str:
    return f"[{passage.chunk.id}] {' > '.join(passage.chunk.place.heading_path)}\n{passage.chunk.text}"


class AskResponse(BaseModel):
    """An answer with its sources, or the fixed refusal sentence without any."""

    answer: str = Field(min_length=1)
    sources: list[str]
    matched_chunks: list[ChunkReference]
    grounded: bool = Field(description="Whether every sentence of the answer is supported by the book")
    retrieval_quality: RetrievalQuality | None = Field(
        default=None, description="Null if the question was answered from the selection alone"
    )

    @model_validator(mode="after")
    def _sources_are_the_matched_chunks(self) -> Self:
        if self.sources != [chunk.chunk_id for chunk in self.matched_chunks]:
            raise ValueError("sources must be the ids of the matched chunks, in the same order")
        if not self.sources and (self.grounded or self.answer != NOT_IN_BOOK_MESSAGE):
            raise ValueError("only a refusal has no sources, and a refusal is not grounded")
        if SELECTION_CHUNK_ID in self.sources and self.retrieval_quality is not None:
            raise ValueError("retrieval_quality must be null for a selection")
        return self

    @classmethod
    def from_reply(cls, question: Question, reply: Reply) -> Self:
        answer = reply if isinstance(reply, Answer) else None
        chunks = [ChunkReference.from_passage(passage) for passage in answer.passages] if answer else []
        return cls(
            answer=answer.full_text if answer else NOT_IN_BOOK_MESSAGE,
            sources=[chunk.chunk_id for chunk in chunks],
            matched_chunks=chunks,
            grounded=answer is not None and all(sentence.is_verified for sentence in answer.sentences),
            retrieval_quality=None if question.scope is AnswerScope.SELECTION else reply.judgement.quality,
        )


class AskError(BaseModel):
    """A code for what went wrong, and what to do."""

    error: str
    detail: str


def build_error_body(problem: http_contract.Problem, context: RequestContext) -> AskError:
    return AskError(error=problem.kind.value, detail=problem.broken_rules or problem.message)


def build_router(backend: http_contract.AnswerBackend) -> APIRouter:
    router = APIRouter(tags=["ask"], route_class=http_contract.QuestionRoute)

    @router.post("/ask", responses=http_contract.error_responses(AskError, 400))
    async def ask(body: AskRequest, context: http_contract.Context) -> AskResponse:
        """Answer from the book, or from the selected passage alone."""
        question = body.to_question()
        return AskResponse.from_reply(question, await backend.ask(question, context))

    return router


CONTRACT = http_contract.HttpContract(("/ask",), build_router, build_error_body, invalid_status=400)
