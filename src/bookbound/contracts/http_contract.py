"""Defines what an HTTP contract consists of and maps errors to HTTP problems."""

from __future__ import annotations

import json
import math
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, NamedTuple, Protocol
from uuid import UUID

from fastapi import APIRouter
from pydantic import BaseModel, ConfigDict

from bookbound.answering.pipeline import PipelineEvent
from bookbound.domain.errors import (
    BookboundError,
    BookIndexError,
    BookNotFoundError,
    InvalidInputError,
    OverloadedError,
    ServiceError,
    ServiceRateLimitError,
    ServiceTimeoutError,
)
from bookbound.domain.manifest import Manifest
from bookbound.domain.question import (
    Question,
    Retrieval,
)
from bookbound.domain.reply import Reply

HealthCheck = Callable[[], Awaitable[object]]


class AnswerBackend(Protocol):
    """Where faces hand questions in."""

    @property
    def manifest(self) -> Manifest: ...

    @property
    def models(self) -> dict[str, str]:
        """The names of the parts that answer: embedder and writer."""

    def checks(self) -> dict[str, HealthCheck]:
        """For each part that an answer needs, something that fails when it does."""

    async def ask(self, question: Question) -> Reply: ...

    async def search(self, question: Question) -> Retrieval: ...

    def steps(self, question: Question) -> AsyncGenerator[PipelineEvent]: ...


class ProblemKind(StrEnum):
    """What can keep a request from its reply."""

    INVALID = "invalid_input"
    NO_KEY = "unauthorized"
    FORBIDDEN = "forbidden"
    NOT_FOUND = "not_found"
    WRONG_METHOD = "method_not_allowed"
    TOO_LARGE = "too_large"
    WRONG_TYPE = "unsupported_media_type"
    LIMIT = "limit_reached"
    BUSY = "busy"
    UNREACHABLE = "unreachable"
    TIMED_OUT = "timed_out"
    INDEX = "index_unavailable"
    INTERNAL = "internal_error"


class FieldProblem(NamedTuple):
    """A field of a request and the rule it breaks; never what it held."""

    field: str
    rule: str


@dataclass(frozen=True, slots=True)
class Problem:
    """Something that kept a request from its reply, before a face puts it in its own words."""

    kind: ProblemKind
    status: int
    message: str
    service: str = ""
    fields: tuple[FieldProblem, ...] = ()
    retry_after: int | None = None
    session_id: UUID | None = None


@dataclass(frozen=True, slots=True)
class HttpContract:
    """One published contract: `paths` it answers at, the status it gives to invalid input, and its error body.

    Where questions belong to sessions, `session` finds the one that a request's body names.
    """

    paths: tuple[str, ...]
    routes: Callable[[AnswerBackend], APIRouter]
    body: Callable[[Problem, str], BaseModel]
    invalid: int = 422
    session: Callable[[bytes], UUID | None] | None = None


# The first row that fits holds. `None` is the status that each face gives to invalid input.
ERROR_STATUSES: tuple[tuple[type[Exception], ProblemKind, int | None], ...] = (
    (InvalidInputError, ProblemKind.INVALID, None),
    (ServiceRateLimitError, ProblemKind.LIMIT, 429),
    (ServiceTimeoutError, ProblemKind.TIMED_OUT, 504),
    (ServiceError, ProblemKind.UNREACHABLE, 503),
    (OverloadedError, ProblemKind.BUSY, 503),
    (BookNotFoundError, ProblemKind.NOT_FOUND, 404),
    (BookIndexError, ProblemKind.INDEX, 503),
    (Exception, ProblemKind.INTERNAL, 500),
)
INVALID_JSON_RULE = "is not valid JSON"
STATUS_PROBLEMS = {
    400: (ProblemKind.INVALID, f"body: {INVALID_JSON_RULE}"),
    401: (ProblemKind.NO_KEY, "This needs a valid key. Send it as `Authorization: Bearer KEY` or `X-API-Key: KEY`."),
    403: (ProblemKind.FORBIDDEN, "This key is not for this, or not for use from here. Ask whoever gave it to you."),
    404: (ProblemKind.NOT_FOUND, "There is nothing at this path."),
    405: (ProblemKind.WRONG_METHOD, "This path does not take this method."),
    408: (ProblemKind.TIMED_OUT, "The body of the request did not arrive in time."),
    413: (ProblemKind.TOO_LARGE, "The request is too large."),
    415: (ProblemKind.WRONG_TYPE, "Send the request as application/json."),
    503: (ProblemKind.BUSY, "The server is being stopped. Try again in a moment."),
}
DEFAULT_RETRY_AFTER_SECONDS = 10
"""Seconds to wait where a service set a limit and did not say how long."""
INTERNAL_ERROR_MESSAGE = "Something went wrong on our side. Try again, and report it if it stays."


def problem_from_error(error: Exception, invalid: int) -> Problem:
    """What a client is told of an error; of one that is not ours, nothing but that it happened."""
    kind, status = next((kind, status) for type_, kind, status in ERROR_STATUSES if isinstance(error, type_))
    message = (
        str(error) if isinstance(error, BookboundError) and kind is not ProblemKind.INTERNAL else INTERNAL_ERROR_MESSAGE
    )
    wait = getattr(error, "retry_after", None)
    if wait is None and status == 429:
        wait = DEFAULT_RETRY_AFTER_SECONDS
    return Problem(
        kind,
        status or invalid,
        message,
        service=getattr(error, "service", ""),
        retry_after=None if wait is None else math.ceil(wait),
    )


def problem_from_status(status: int, invalid: int) -> Problem:
    """What a client is told of a request that no face took."""
    kind, message = STATUS_PROBLEMS.get(status, (ProblemKind.INTERNAL, INTERNAL_ERROR_MESSAGE))
    if kind is ProblemKind.INVALID:
        return Problem(kind, invalid, message, fields=(FieldProblem("body", INVALID_JSON_RULE),))
    return Problem(kind, status, message)


def problem_from_validation_errors(errors: Sequence[dict[str, Any]], invalid: int) -> Problem:
    """What a client is told of a body that breaks its model's rules: which rules, never the words that broke them."""
    fields = tuple(FieldProblem(_field_name(error), _broken_rule(error)) for error in errors)
    first = fields[0]
    return Problem(ProblemKind.INVALID, invalid, f"{first.field}: {first.rule}", fields=fields)


def _field_name(error: dict[str, Any]) -> str:
    if error["type"] == "json_invalid":
        return "body"
    return ".".join(str(part) for part in error["loc"] if part != "body") or "body"


def _broken_rule(error: dict[str, Any]) -> str:
    message = INVALID_JSON_RULE if error["type"] == "json_invalid" else str(error["msg"])
    return message.removeprefix("Value error, ")


EVENT_STREAM_TYPE = "text/event-stream"


class StrictRequest(BaseModel):
    """A request of ours: a field that it does not know is told, so that none is misspelt in silence."""

    model_config = ConfigDict(extra="forbid")


def build_default_error_body(problem: Problem, request_id: str) -> ErrorModel:
    told = {
        "type": problem.kind.value,
        "message": problem.message,
        "fields": [field._asdict() for field in problem.fields],
        "retry_after": problem.retry_after,
    }
    return ErrorModel.model_validate({"error": told, "request_id": request_id})


def format_server_sent_event(name: str, value: dict[str, Any]) -> str:
    return f"event: {name}\ndata: {json.dumps(value, ensure_ascii=False)}\n\n"


class FieldProblemModel(BaseModel):
    field: str
    rule: str


class ProblemModel(BaseModel):
    """What went wrong and what to do."""

    type: str
    message: str
    fields: list[FieldProblemModel]
    retry_after: int | None


class ErrorModel(BaseModel):
    error: ProblemModel
    request_id: str
