"""Defines the entities of contract 003 and their validation rules."""

from __future__ import annotations

import re
from enum import StrEnum
from typing import Annotated, Any, Literal, Self
from uuid import UUID

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, HttpUrl, field_validator, model_validator

MAX_ANSWER_CHARS, MAX_CHUNK_CHARS, MAX_REFERENCE_CHARS = 2000, 10_000, 500
MAX_MESSAGE_CHARS, MAX_DETAILS_CHARS = 200, 500
BOOK_INSUFFICIENT_MESSAGE = "The provided book content does not contain sufficient information to answer this question"
SELECTION_MISSING_MESSAGE = "The selected text does not contain this information"
UUID4_PATTERN = "^[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-4[0-9a-fA-F]{3}-[89abAB][0-9a-fA-F]{3}-[0-9a-fA-F]{12}$"


def _parse_uuid4(value: object) -> UUID:
    """A UUID of version 4 in its usual spelling; the error does not repeat what the reader sent."""
    text = str(value) if isinstance(value, str | UUID) else ""
    if not re.fullmatch(UUID4_PATTERN, text):
        raise ValueError("must be a UUID of version 4")
    return UUID(text)


SessionId = Annotated[UUID, BeforeValidator(_parse_uuid4), Field(json_schema_extra={"pattern": UUID4_PATTERN})]


def _allow_blank(schema: dict[str, Any]) -> None:
    """Add white space, which counts as no selection, to the published schema."""
    schema["anyOf"].append({"type": "string", "pattern": r"^\s*$"})


class FrozenModel(BaseModel):
    """An entity of the contract."""

    model_config = ConfigDict(frozen=True)


class QueryRequest(FrozenModel):
    """A question; outer white space is stripped, and a selection of white space counts as none."""

    query: str = Field(min_length=1, max_length=500, examples=["How does ROS 2 work?"])
    selected_text: str | None = Field(default=None, min_length=10, max_length=5000, json_schema_extra=_allow_blank)
    top_k: int = Field(default=5, ge=1, le=20)
    session_id: SessionId | None = None

    @field_validator("query", mode="before")
    @classmethod
    def query_not_empty(cls, value: object) -> object:
        query = value.strip() if isinstance(value, str) else value
        if query == "":
            raise ValueError("Query cannot be empty")
        return query

    @field_validator("selected_text", mode="before")
    @classmethod
    def strip_selected_text(cls, value: object) -> object:
        return value.strip() or None if isinstance(value, str) else value


class WorkflowMode(StrEnum):
    STANDARD_RAG = "standard_rag"
    SELECTED_TEXT_ONLY = "selected_text_only"


class PlannedWorkflow(FrozenModel):
    """How to answer a request."""

    mode: WorkflowMode
    query: str
    top_k: int
    selected_text: str | None

    @model_validator(mode="after")
    def selected_text_fits_mode(self) -> Self:
        if self.mode is WorkflowMode.SELECTED_TEXT_ONLY and self.selected_text is None:
            raise ValueError("selected_text required for selected_text_only mode")
        if self.mode is WorkflowMode.STANDARD_RAG and self.selected_text is not None:
            raise ValueError("selected_text must be null for standard_rag mode")
        return self


class QueryEmbedding(FrozenModel):
    """A query as Cohere's embedder represents it."""

    vector: list[float] = Field(min_length=1024, max_length=1024)
    model: Literal["embed-multilingual-v3.0"]
    input_type: Literal["search_query"]

    @field_validator("vector")
    @classmethod
    def vector_range(cls, vector: list[float]) -> list[float]:
        if not all(-1.0 <= value <= 1.0 for value in vector):
            raise ValueError("All vector values must be in range [-1.0, 1.0]")
        return vector


class RetrievedChunk(FrozenModel):
    """A retrieved passage, or the selection itself."""

    chunk_id: str = Field(min_length=1)
    text: str = Field(min_length=1, max_length=MAX_CHUNK_CHARS)
    chapter: str | None = None
    section: str | None = None
    source_url: HttpUrl | None = None
    similarity_score: float = Field(ge=0.0, le=1.0)


class Citation(FrozenModel):
    """The place of a quote that supports the answer."""

    chapter: str | None = None
    section: str | None = None
    source_url: HttpUrl | None = None
    referenced_text: str | None = Field(default=None, max_length=MAX_REFERENCE_CHARS)

    @model_validator(mode="after")
    def at_least_one_field(self) -> Self:
        if not (self.chapter or self.section or self.source_url):
            raise ValueError("Citation must have at least one of: chapter, section, source_url")
        return self


class GroundedAnswer(FrozenModel):
    """An answer and its citations."""

    text: str = Field(min_length=1, max_length=MAX_ANSWER_CHARS)
    citations: list[Citation] = Field(min_length=1)
    mode: WorkflowMode


class RefusalType(StrEnum):
    EMPTY_RETRIEVAL = "empty_retrieval"
    LOW_RELEVANCE = "low_relevance"
    INSUFFICIENT_GROUNDING = "insufficient_grounding"
    SELECTED_TEXT_MISSING = "selected_text_missing"


# The contract has one sentence for the book and one for a selection, whatever the reason is.
REFUSAL_MESSAGES = dict.fromkeys(RefusalType, BOOK_INSUFFICIENT_MESSAGE)
REFUSAL_MESSAGES[RefusalType.SELECTED_TEXT_MISSING] = SELECTION_MISSING_MESSAGE


class RefusalMessage(FrozenModel):
    """The reason for a refusal, one of two fixed sentences."""

    reason: str
    refusal_type: RefusalType

    @model_validator(mode="after")
    def standard_reason(self) -> Self:
        if self.reason != REFUSAL_MESSAGES[self.refusal_type]:
            raise ValueError(f'Refusal message must be: "{REFUSAL_MESSAGES[self.refusal_type]}"')
        return self


class ErrorCode(StrEnum):
    QDRANT_TIMEOUT = "QDRANT_TIMEOUT"
    COHERE_FAILURE = "COHERE_FAILURE"
    OPENROUTER_TIMEOUT = "OPENROUTER_TIMEOUT"
    VALIDATION_FAILED = "VALIDATION_FAILED"
    RATE_LIMIT_EXCEEDED = "RATE_LIMIT_EXCEEDED"


class ErrorDetail(FrozenModel):
    """Why a query failed."""

    code: ErrorCode
    message: str = Field(min_length=1, max_length=MAX_MESSAGE_CHARS)
    details: str | None = Field(default=None, max_length=MAX_DETAILS_CHARS)
    retry_after: int | None = Field(default=None, ge=0)


class ResponseStatus(StrEnum):
    SUCCESS = "success"
    REFUSED = "refused"
    ERROR = "error"


class ResponseMetadata(FrozenModel):
    """How the reply was made."""

    chunks_retrieved: int
    processing_time_ms: int
    session_id: UUID | None
    request_id: UUID


class QueryResponse(FrozenModel):
    """The envelope: exactly one of answer, refusal and error, as the status says."""

    status: ResponseStatus
    answer: GroundedAnswer | None = None
    refusal: RefusalMessage | None = None
    error: ErrorDetail | None = None
    metadata: ResponseMetadata

    @model_validator(mode="after")
    def exclusive_fields(self) -> Self:
        parts = {"answer": self.answer, "refusal": self.refusal, "error": self.error}
        wanted = {"success": "answer", "refused": "refusal", "error": "error"}[self.status]
        if parts[wanted] is None:
            raise ValueError(f"{wanted} required when status={self.status}")
        # After the check above, this rejects a part too many.
        if sum(part is not None for part in parts.values()) != 1:
            raise ValueError("Exactly one of answer, refusal, error must be present")
        return self
