"""What goes wrong, in the words of the query contract."""

from __future__ import annotations

from bookbound.faces.cut import cut
from bookbound.faces.face import Problem, ProblemKind
from bookbound.faces.problems import INTERNAL
from bookbound.faces.query_entities import LONGEST_DETAILS, LONGEST_MESSAGE, ErrorCode, ErrorDetail
from bookbound.upstream import called

# What kept a query from its reply decides the code; where that is a service, the service does.
CODES = {
    ProblemKind.INVALID: ErrorCode.VALIDATION_FAILED,
    ProblemKind.NO_KEY: ErrorCode.VALIDATION_FAILED,
    ProblemKind.FORBIDDEN: ErrorCode.VALIDATION_FAILED,
    ProblemKind.NOT_FOUND: ErrorCode.VALIDATION_FAILED,
    ProblemKind.WRONG_METHOD: ErrorCode.VALIDATION_FAILED,
    ProblemKind.TOO_LARGE: ErrorCode.VALIDATION_FAILED,
    ProblemKind.WRONG_TYPE: ErrorCode.VALIDATION_FAILED,
    ProblemKind.TIMED_OUT: ErrorCode.VALIDATION_FAILED,  # without a service, it is the request that came too late
    ProblemKind.LIMIT: ErrorCode.RATE_LIMIT_EXCEEDED,
    ProblemKind.BUSY: ErrorCode.RATE_LIMIT_EXCEEDED,
    ProblemKind.INDEX: ErrorCode.QDRANT_TIMEOUT,
}
SERVICES = {
    "qdrant": ErrorCode.QDRANT_TIMEOUT,
    "cohere": ErrorCode.COHERE_FAILURE,
    "embeddings": ErrorCode.COHERE_FAILURE,
    "language model": ErrorCode.OPENROUTER_TIMEOUT,
}
OURS = ErrorCode.OPENROUTER_TIMEOUT
"""The code of a defect of our own. The contract has none for it; this one says that it is the answer that failed."""

MESSAGES = {
    ErrorCode.VALIDATION_FAILED: "The request is not valid.",
    ErrorCode.RATE_LIMIT_EXCEEDED: "Too many questions at the moment. Please wait a little and try again.",
    ErrorCode.QDRANT_TIMEOUT: "The search service is temporarily unavailable. Please try again.",
    ErrorCode.COHERE_FAILURE: "The embedding service is temporarily unavailable. Please try again.",
    ErrorCode.OPENROUTER_TIMEOUT: "The answer service is temporarily unavailable. Please try again.",
}
DETAILS = {
    ProblemKind.UNREACHABLE: "{} could not be reached, or gave nothing that can be used.",
    ProblemKind.LIMIT: "{} set a limit.",
    ProblemKind.TIMED_OUT: "{} did not answer in time.",
}
NO_INDEX = "The index cannot be used as it is."


def detail(problem: Problem) -> ErrorDetail:
    """What went wrong; details name our parts and rules, never what was sent."""
    code = _code(problem)
    told = problem.message if code is ErrorCode.VALIDATION_FAILED else ""
    return ErrorDetail(
        code=code or OURS,
        message=cut(told or (MESSAGES[code] if code else INTERNAL), LONGEST_MESSAGE),
        details=cut(_details(problem), LONGEST_DETAILS) or None,
        retry_after=None if problem.retry_after is None else max(problem.retry_after, 0),
    )


def _code(problem: Problem) -> ErrorCode | None:
    """What the contract calls a problem; it has no name for a defect of our own, such as a service nobody named."""
    if problem.service and problem.kind is not ProblemKind.LIMIT:
        return SERVICES.get(problem.service)
    return CODES.get(problem.kind)


def _details(problem: Problem) -> str:
    if problem.fields:
        return "; ".join(f"{field}: {rule}" for field, rule in problem.fields)
    if problem.service:
        return DETAILS.get(problem.kind, "").format(called(problem.service))
    return NO_INDEX if problem.kind is ProblemKind.INDEX else ""
