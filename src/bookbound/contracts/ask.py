"""Implements contract 000: `POST /ask` returns an answer with its chunks or a fixed refusal sentence."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Literal, Self

from fastapi import APIRouter
from pydantic import BaseModel, BeforeValidator, Field, StringConstraints, model_validator

from bookbound.contracts.http_contract import AnswerBackend, HttpContract, Problem
from bookbound.domain.chunk import Passage
from bookbound.domain.judgement import Judgement, RetrievalQuality
from bookbound.domain.question import SELECTION_CHUNK_ID, AnswerScope, Question
from bookbound.domain.reply import NOT_IN_BOOK_MESSAGE, SUPPORT_THRESHOLD, Answer, Reply

MAX_CHUNK_TEXT_CHARS, ELLIPSIS = 2000, "..."


def _truncate_text(value: Any) -> Any:
    long = isinstance(value, str) and len(value) > MAX_CHUNK_TEXT_CHARS
    return value[: MAX_CHUNK_TEXT_CHARS - len(ELLIPSIS)] + ELLIPSIS if long else value


class AskRequest(BaseModel):
    """A question; where words of the book are selected, they alone may answer it."""

    question: Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=1000)] = Field(
        description="The question", json_schema_extra={"pattern": r"\S"}
    )
    selected_text: Annotated[str, StringConstraints(strip_whitespace=True, max_length=10000)] | None = Field(
        default=None, description="The passage that the reader selected"
    )

    def asked(self) -> Question:
        return Question(self.question, self.selected_text, AnswerScope.SELECTION)


class ChunkReference(BaseModel):
    """A chunk that the answer used; a longer text than 2000 characters is cut, and ends in three points."""

    chunk_id: str = Field(min_length=1)
    text: Annotated[str, BeforeValidator(_truncate_text)] = Field(min_length=1, max_length=MAX_CHUNK_TEXT_CHARS)
    page: int | None = Field(default=None, gt=0)
    chapter: str | None = None
    section: str | None = None

    @classmethod
    def of(cls, passage: Passage) -> Self:
        """The selection stands by itself; a chunk of the book tells its place."""
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
    """What was found out about the retrieved chunks before anything was answered."""

    relevant_chunks: list[str]
    answer_present: bool
    evidence: list[str]
    retrieval_quality: RetrievalQuality

    @classmethod
    def of(cls, judgement: Judgement) -> Self:
        return cls(
            relevant_chunks=list(judgement.relevant),
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
    def _metadata_is_of_the_context_type(self) -> Self:
        selected = self.context_type == "selected_text"
        named = [source.get("chunk_id") for source in self.source_metadata]
        if (
            selected != (named == [SELECTION_CHUNK_ID])
            or (not selected and SELECTION_CHUNK_ID in named)
            or not all(named)
        ):
            raise ValueError("a selection is its own and only source; every other source is a chunk with an id")
        if selected != (self.validation_result is None):
            raise ValueError("retrieved chunks come with a validation result, a selection without")
        return self

    @classmethod
    def of(cls, question: Question, passages: Sequence[Passage], judgement: Judgement) -> Self:
        """The passages, each under its id and its names, or the bare selection."""
        selected = question.scope is AnswerScope.SELECTION
        return cls(
            context_text="\n\n".join(p.chunk.text if selected else _format_passage(p) for p in passages),
            context_type="selected_text" if selected else "retrieval",
            validation_result=None if selected else ValidationResult.of(judgement),
            source_metadata=[ChunkReference.of(passage).model_dump(exclude={"text"}) for passage in passages],
        )


def _format_passage(passage: Passage) -> str:
    return f"[{passage.chunk.id}] {' > '.join(passage.chunk.place.path)}\n{passage.chunk.text}"


class AskResponse(BaseModel):
    """An answer and what it rests on; without sources it is the sentence that the book does not say."""

    answer: str = Field(min_length=1)
    sources: list[str]
    matched_chunks: list[ChunkReference]
    grounded: bool = Field(description="Whether every sentence of the answer was found supported")
    retrieval_quality: RetrievalQuality | None = Field(
        default=None, description="Null where the selection alone was read"
    )

    @model_validator(mode="after")
    def _sources_are_the_matched_chunks(self) -> Self:
        if self.sources != [chunk.chunk_id for chunk in self.matched_chunks]:
            raise ValueError("sources and matched chunks name the same, in the same order")
        if not self.sources and (self.grounded or self.answer != NOT_IN_BOOK_MESSAGE):
            raise ValueError("only a refusal has no source, and a refusal is not grounded")
        if SELECTION_CHUNK_ID in self.sources and self.retrieval_quality is not None:
            raise ValueError("nothing is retrieved for a selection")
        return self

    @classmethod
    def of(cls, question: Question, reply: Reply) -> Self:
        answer = reply if isinstance(reply, Answer) else None
        chunks = [ChunkReference.of(passage) for passage in answer.passages] if answer else []
        selected = question.scope is AnswerScope.SELECTION
        return cls(
            answer=answer.full_text if answer else NOT_IN_BOOK_MESSAGE,
            sources=[chunk.chunk_id for chunk in chunks],
            matched_chunks=chunks,
            grounded=answer is not None and all(sentence.support >= SUPPORT_THRESHOLD for sentence in answer.sentences),
            retrieval_quality=None if selected else ValidationResult.of(reply.judgement).retrieval_quality,
        )


class AskError(BaseModel):
    """What went wrong, in a word, and what to do about it."""

    error: str
    detail: str


def build_error_body(problem: Problem, request_id: str) -> AskError:
    """Every rule that the request breaks, or else the problem's own message."""
    rules = "; ".join(f"{field.field}: {field.rule}" for field in problem.fields)
    return AskError(error=problem.kind.value, detail=rules or problem.message)


ERROR_RESPONSES: dict[int | str, dict[str, Any]] = {
    status: {"model": AskError} for status in (400, 401, 403, 413, 415, 429, 500, 503, 504)
}


def build_router(desk: AnswerBackend) -> APIRouter:
    router = APIRouter(tags=["ask"])

    @router.post("/ask", responses=ERROR_RESPONSES)
    async def ask(asked: AskRequest) -> AskResponse:
        """Answer from the book, or from the selected words alone."""
        question = asked.asked()
        return AskResponse.of(question, await desk.ask(question))

    return router


CONTRACT = HttpContract(paths=("/ask",), routes=build_router, body=build_error_body, invalid=400)
