"""Records what happens to each request: its outcome, its stage timings, and the load of the server."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from time import perf_counter, time_ns
from typing import Any, Literal

from bookbound.contracts import http_contract
from bookbound.contracts.http_contract import ProblemKind
from bookbound.domain.book_ref import BookRef
from bookbound.domain.errors import (
    ServiceAuthenticationError,
    ServiceError,
    ServiceRateLimitError,
    ServiceResponseError,
    ServiceTimeoutError,
    ServiceUnreachableError,
)
from bookbound.domain.judgement import RefusalReason
from bookbound.domain.manifest import Manifest
from bookbound.domain.question import Retrieval
from bookbound.domain.reply import Answer, Refusal, Reply, Trace

Stage = Literal["embed", "search", "judge", "write", "verify"]
RequestKind = Literal["question", "search"]


@dataclass(slots=True)
class StageTiming:
    """What a question took at one station, in seconds since its request came: from when to when, and in how many calls.

    `seconds` is the work alone: between the calls, other stations were busy, or the reader was.
    """

    began: float
    ended: float
    calls: int = 0
    seconds: float = 0.0
    failed: str = ""


@dataclass(slots=True)
class RequestRecord:
    """A request from its first to its last byte; it holds no word of it, of its reply, or of who sent it.

    `asked` says what it put to the book, where it came so far, and `failures` how services failed it.
    """

    method: str
    state: dict[str, Any] = field(default_factory=dict, repr=False)
    traceparent: str = ""
    route: str = ""
    face: str = ""
    status: int | None = None
    asked: RequestKind | None = None
    outcome: str = ""
    reply: Reply | None = field(default=None, repr=False)
    stays: dict[Stage, StageTiming] = field(default_factory=dict)
    failures: list[ServiceError] = field(default_factory=list, repr=False)
    at: int = field(default_factory=time_ns)
    began: float = field(default_factory=perf_counter)
    seconds: float = 0.0

    @property
    def request_id(self) -> str | None:
        return self.state.get("request_id")

    @property
    def trace(self) -> Trace | None:
        return self.reply.trace if self.reply else None


CURRENT_REQUEST: ContextVar[RequestRecord | None] = ContextVar("visit", default=None)
"""The request that is being served; whoever takes a request in says so here."""


@contextmanager
def time_stage(station: Stage) -> Iterator[None]:
    """What is done within this block is done at a station, for the request that is being served, if there is one."""
    visit = CURRENT_REQUEST.get()
    if visit is None:
        yield
        return
    start, trouble = perf_counter(), None
    try:
        yield
    except BaseException as error:
        trouble = error
        raise
    finally:
        end = perf_counter()
        stay = visit.stays.setdefault(station, StageTiming(start - visit.began, end - visit.began))
        stay.ended, stay.calls, stay.seconds = end - visit.began, stay.calls + 1, stay.seconds + end - start
        if trouble is not None and not isinstance(trouble, StopAsyncIteration):
            stay.failed = type(trouble).__name__
        if isinstance(trouble, ServiceError):
            visit.failures.append(trouble)


ANSWERED, UNSURE, FOUND, SERVED, DISCONNECTED, LIMITED = (
    "answered",
    "answered_unsure",
    "found",
    "served",
    "left",
    "limited",
)
REFUSED = {kind: f"refused_{kind.value}" for kind in RefusalReason}
OUTCOMES = {ANSWERED, UNSURE, FOUND, SERVED, DISCONNECTED, LIMITED, *REFUSED.values(), *ProblemKind}
"""Every outcome there is."""
EARLY_STATUS_OUTCOMES = {422: ProblemKind.INVALID.value, 429: LIMITED}
"""What a status means that a request got before its question came to the book."""
KNOWN_SERVICES = frozenset({"cohere", "embeddings", "language model", "log", "qdrant"})
FAILURE_KINDS: tuple[tuple[type[ServiceError], str], ...] = (
    (ServiceUnreachableError, "unreachable"),
    (ServiceTimeoutError, "timed_out"),
    (ServiceAuthenticationError, "denied"),
    (ServiceResponseError, "bad_reply"),
    (ServiceRateLimitError, "limit_reached"),
    (ServiceError, "not_taken"),
)


def reply_outcome(reply: Answer | Refusal | Retrieval) -> str:
    """An answer, one with a reservation, a refusal of its kind, or passages."""
    match reply:
        case Answer():
            return ANSWERED if reply.sure else UNSURE
        case Refusal():
            return REFUSED[reply.kind]
        case Retrieval():
            return FOUND


def error_outcome(trouble: BaseException) -> str:
    """The problem that a client is told of; where nobody is told any more, whoever asked has left."""
    return http_contract.problem_from_error(trouble, 400).kind.value if isinstance(trouble, Exception) else DISCONNECTED


def status_outcome(status: int | None) -> str:
    """What a status says of a request that put nothing to the book."""
    if status is None:
        return DISCONNECTED
    if status < 400:
        return SERVED
    return EARLY_STATUS_OUTCOMES.get(status) or http_contract.problem_from_status(status, 400).kind.value


def classify_failure(trouble: ServiceError) -> tuple[str, str]:
    """A service by its name, and how it failed."""
    service = trouble.service if trouble.service in KNOWN_SERVICES else "other"
    return service, next(kind for type_, kind in FAILURE_KINDS if isinstance(trouble, type_))


@dataclass(frozen=True, slots=True)
class QueueStats:
    """How many questions are worked on and how many wait for that, what became of entries of the log, and what is open.

    Entries that are neither written nor lost wait to be written.
    """

    working: int = 0
    waiting: int = 0
    noted: int = 0
    written: int = 0
    lost: int = 0
    books: Mapping[BookRef, Manifest] = field(default_factory=dict)

    @property
    def unwritten(self) -> int:
        return max(0, self.noted - self.written - self.lost)
