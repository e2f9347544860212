"""One table from our errors to what a client is told."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from bookbound.errors import (
    BookboundError,
    Busy,
    IndexTrouble,
    InvalidInput,
    LimitReached,
    NoBook,
    ServiceTrouble,
    TimedOut,
)
from bookbound.faces.face import FieldProblem, Problem, ProblemKind

# The first row that fits holds. `None` is the status that each face gives to invalid input.
TABLE: tuple[tuple[type[Exception], ProblemKind, int | None], ...] = (
    (InvalidInput, ProblemKind.INVALID, None),
    (LimitReached, ProblemKind.LIMIT, 429),
    (TimedOut, ProblemKind.TIMED_OUT, 504),
    (ServiceTrouble, ProblemKind.UNREACHABLE, 503),
    (Busy, ProblemKind.BUSY, 503),
    (NoBook, ProblemKind.NOT_FOUND, 404),
    (IndexTrouble, ProblemKind.INDEX, 503),
    (Exception, ProblemKind.INTERNAL, 500),
)
NO_JSON = "is not valid JSON"
HTTP = {
    400: (ProblemKind.INVALID, f"body: {NO_JSON}"),
    401: (ProblemKind.NO_KEY, "This needs a valid key. Send it as `Authorization: Bearer KEY` or `X-API-Key: KEY`."),
    403: (ProblemKind.FORBIDDEN, "This key is not for this, or not for use from here. Ask whoever gave it to you."),
    404: (ProblemKind.NOT_FOUND, "There is nothing at this path."),
    405: (ProblemKind.WRONG_METHOD, "This path does not take this method."),
    408: (ProblemKind.TIMED_OUT, "The body of the request did not arrive in time."),
    413: (ProblemKind.TOO_LARGE, "The request is too large."),
    415: (ProblemKind.WRONG_TYPE, "Send the request as application/json."),
    503: (ProblemKind.BUSY, "The server is being stopped. Try again in a moment."),
}
RETRY_AFTER = 10
"""Seconds to wait where a service set a limit and did not say how long."""

INTERNAL = "Something went wrong on our side. Try again, and report it if it stays."


def of_error(error: Exception, invalid: int) -> Problem:
    """What a client is told of an error; of one that is not ours, nothing but that it happened."""
    kind, status = next((kind, status) for type_, kind, status in TABLE if isinstance(error, type_))
    message = str(error) if isinstance(error, BookboundError) and kind is not ProblemKind.INTERNAL else INTERNAL
    wait = getattr(error, "retry_after", None)
    if wait is None and status == 429:
        wait = RETRY_AFTER
    return Problem(
        kind,
        status or invalid,
        message,
        service=getattr(error, "service", ""),
        retry_after=None if wait is None else math.ceil(wait),
    )


def of_status(status: int, invalid: int) -> Problem:
    """What a client is told of a request that no face took."""
    kind, message = HTTP.get(status, (ProblemKind.INTERNAL, INTERNAL))
    if kind is ProblemKind.INVALID:
        return Problem(kind, invalid, message, fields=(FieldProblem("body", NO_JSON),))
    return Problem(kind, status, message)


def of_fields(errors: Sequence[dict[str, Any]], invalid: int) -> Problem:
    """What a client is told of a body that breaks its model's rules: which rules, never the words that broke them."""
    fields = tuple(FieldProblem(_field(error), _rule(error)) for error in errors)
    first = fields[0]
    return Problem(ProblemKind.INVALID, invalid, f"{first.field}: {first.rule}", fields=fields)


def _field(error: dict[str, Any]) -> str:
    if error["type"] == "json_invalid":
        return "body"
    return ".".join(str(part) for part in error["loc"] if part != "body") or "body"


def _rule(error: dict[str, Any]) -> str:
    message = NO_JSON if error["type"] == "json_invalid" else str(error["msg"])
    return message.removeprefix("Value error, ")
