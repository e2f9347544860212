"""Defines what an HTTP contract consists of and maps errors to HTTP problems."""

from __future__ import annotations

import math
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Annotated, Any, ClassVar, NamedTuple, Protocol
from uuid import UUID

from fastapi import APIRouter, Depends, Request, Response
from fastapi.routing import APIRoute
from pydantic import BaseModel

from bookbound.contracts.request_context import RequestContext
from bookbound.domain import errors
from bookbound.domain.manifest import Manifest
from bookbound.domain.ports import Index
from bookbound.domain.question import Question, Retrieval
from bookbound.domain.reply import PipelineEvent, Reply

HealthCheck = Callable[[], Awaitable[object]]
IndexOpener = Callable[[RequestContext], AbstractAsyncContextManager[Index]]
"""Keeps the book of a request open and unchanged during a block, in which its pages can be read."""


class AnswerBackend(Protocol):
    """Answers the questions of every contract."""

    @property
    def models(self) -> dict[str, str]:
        """The names of the embedder and the writer."""

    def health_checks(self) -> dict[str, HealthCheck]:
        """For each part that an answer needs, a check that fails if the part does."""

    async def manifest(self, context: RequestContext) -> Manifest: ...

    async def ask(self, question: Question, context: RequestContext) -> Reply: ...

    async def search(self, question: Question, context: RequestContext) -> Retrieval: ...

    def stream(self, question: Question, context: RequestContext) -> AsyncGenerator[PipelineEvent]: ...


class ProblemKind(StrEnum):
    """Why a request gets no reply."""

    INVALID = "invalid_input"
    UNAUTHORIZED = "unauthorized"
    FORBIDDEN = "forbidden"
    NOT_FOUND = "not_found"
    WRONG_METHOD = "method_not_allowed"
    CONFLICT = "conflict"
    TOO_LARGE = "too_large"
    WRONG_TYPE = "unsupported_media_type"
    LIMIT = "limit_reached"
    BUSY = "busy"
    UNREACHABLE = "unreachable"
    TIMED_OUT = "timed_out"
    INDEX = "index_unavailable"
    INTERNAL = "internal_error"


class FieldProblem(NamedTuple):
    """A field of a request and the rule it breaks; never its value."""

    field: str
    rule: str

    def __str__(self) -> str:
        return f"{self.field}: {self.rule}"


@dataclass(frozen=True, slots=True)
class Problem:
    """Why a request gets no reply, before a contract puts it into its own words."""

    kind: ProblemKind
    status: int
    message: str
    service: str = ""
    fields: tuple[FieldProblem, ...] = ()
    retry_after: int | None = None

    @property
    def broken_rules(self) -> str:
        return "; ".join(map(str, self.fields))


class ProblemError(Exception):
    """Ends a request with a problem."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem.message)
        self.problem = problem


@dataclass(frozen=True, slots=True)
class HttpContract:
    """One published contract: its paths, its routes, its error body and its status for invalid input.

    Rate limits apply to a router whose `route_class` is `QuestionRoute`.
    """

    paths: tuple[str, ...]
    build_router: Callable[[AnswerBackend], APIRouter]
    build_error_body: Callable[[Problem, RequestContext], BaseModel]
    invalid_status: int = 422


class QuestionRoute(APIRoute):
    """A route whose POST requests count against the rate limits, even if they are invalid."""

    has_sessions: ClassVar[bool] = False

    def read_session(self, body: Any) -> UUID | None:
        """The session that a JSON body names, if questions of the contract belong to sessions."""
        return None

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handle = super().get_route_handler()

        async def count_and_handle(request: Request) -> Response:
            if request.method == "POST":
                if self.has_sessions:
                    await self._add_session(request)
                await request.app.state.count_question(request, has_sessions=self.has_sessions)
            return await handle(request)

        return count_and_handle

    async def _add_session(self, request: Request) -> None:
        """Add the session to the request's context, even if other fields of the body are invalid."""
        try:
            session = self.read_session(await request.json())
        except (ValueError, RecursionError):
            return
        context: RequestContext = request.state.context
        request.state.context = replace(context, requester=replace(context.requester, session=session))


def get_context(request: Request) -> RequestContext:
    context: RequestContext = request.state.context
    return context


Context = Annotated[RequestContext, Depends(get_context)]


def error_responses(model: type[BaseModel], *more_statuses: int | str) -> dict[int | str, dict[str, Any]]:
    """The error statuses of a contract's questions, for the OpenAPI document."""
    return {status: {"model": model} for status in (401, 403, 413, 415, 429, 500, 503, 504, *more_statuses)}


# The first row that fits applies. `None` means the contract's own status for invalid input.
ERROR_STATUSES: tuple[tuple[type[Exception], ProblemKind, int | None], ...] = (
    (errors.InvalidInputError, ProblemKind.INVALID, None),
    (errors.ServiceRateLimitError, ProblemKind.LIMIT, 429),
    (errors.ServiceTimeoutError, ProblemKind.TIMED_OUT, 504),
    (errors.ServiceError, ProblemKind.UNREACHABLE, 503),
    (errors.OverloadedError, ProblemKind.BUSY, 503),
    (errors.BookNotFoundError, ProblemKind.NOT_FOUND, 404),
    (errors.NoEarlierGenerationError, ProblemKind.CONFLICT, 409),
    (errors.BookIndexError, ProblemKind.INDEX, 503),
    (Exception, ProblemKind.INTERNAL, 500),
)
INVALID_JSON = FieldProblem("body", "is not valid JSON")
STATUS_PROBLEMS = {
    400: (ProblemKind.INVALID, str(INVALID_JSON)),
    401: (
        ProblemKind.UNAUTHORIZED,
        "This needs a valid key. Send it as `Authorization: Bearer KEY` or `X-API-Key: KEY`.",
    ),
    403: (ProblemKind.FORBIDDEN, "This key does not allow this request. Ask for another key."),
    404: (ProblemKind.NOT_FOUND, "There is nothing at this path."),
    405: (ProblemKind.WRONG_METHOD, "This path does not support this method."),
    408: (ProblemKind.TIMED_OUT, "The body of the request did not arrive in time."),
    413: (ProblemKind.TOO_LARGE, "The request is too large."),
    415: (ProblemKind.WRONG_TYPE, "Send the request as application/json."),
    421: (
        ProblemKind.FORBIDDEN,
        "This server does not answer for this host. Its operator names hosts in `allowed_hosts`.",
    ),
    503: (ProblemKind.BUSY, "The server is stopping. Try again in a moment."),
}
DEFAULT_RETRY_AFTER_SECONDS = 10
"""The wait if a service set a limit and did not say for how long."""
INTERNAL_ERROR_MESSAGE = "Something went wrong on our side. Try again, and report it if it happens again."


def problem_from_error(error: Exception, invalid_status: int) -> Problem:
    """The problem that an error causes; a client learns nothing about an error that is not ours."""
    kind, status = next((kind, status) for type_, kind, status in ERROR_STATUSES if isinstance(error, type_))
    known = isinstance(error, errors.BookboundError) and kind is not ProblemKind.INTERNAL
    wait = getattr(error, "retry_after", None)
    if wait is None and status == 429:
        wait = DEFAULT_RETRY_AFTER_SECONDS
    return Problem(
        kind,
        status or invalid_status,
        str(error) if known else INTERNAL_ERROR_MESSAGE,
        service=getattr(error, "service", ""),
        retry_after=None if wait is None else math.ceil(wait),
    )


def problem_from_status(status: int, invalid_status: int) -> Problem:
    """The problem of a request that no contract accepted."""
    kind, message = STATUS_PROBLEMS.get(status, (ProblemKind.INTERNAL, INTERNAL_ERROR_MESSAGE))
    if kind is ProblemKind.INVALID:
        return Problem(kind, invalid_status, message, fields=(INVALID_JSON,))
    return Problem(kind, status, message)


def problem_from_validation_errors(errors: Sequence[dict[str, Any]], invalid_status: int) -> Problem:
    """The problem of a body that breaks the rules of its model; it names the rules and never the values."""
    fields = tuple(map(_field_problem, errors))
    return Problem(ProblemKind.INVALID, invalid_status, str(fields[0]), fields=fields)


def _field_problem(error: dict[str, Any]) -> FieldProblem:
    if error["type"] == "json_invalid":
        return INVALID_JSON
    field = ".".join(str(part) for part in error["loc"] if part != "body") or "body"
    return FieldProblem(field, str(error["msg"]).removeprefix("Value error, "))
