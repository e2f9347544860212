"""Records the outcome of each request and the load of the server, and reports them to logs, metrics and traces."""

from __future__ import annotations

import logging
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, aclosing, asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from bookbound.contracts import http_contract
from bookbound.contracts.http_contract import AnswerBackend, HealthCheck, ProblemKind
from bookbound.contracts.request_context import RequestContext, RequestKind, RequestRecord
from bookbound.domain import errors
from bookbound.domain.book_ref import BookRef
from bookbound.domain.judgement import RefusalReason, ReplyStatus
from bookbound.domain.manifest import Manifest
from bookbound.domain.question import Question, Retrieval
from bookbound.domain.reply import PipelineEvent, Refusal, Reply

if TYPE_CHECKING:
    from bookbound.server.telemetry.prometheus import PrometheusMetrics

ANSWERED, UNSURE, FOUND = ReplyStatus.ANSWERED.value, ReplyStatus.UNSURE.value, "found"
SERVED, DISCONNECTED, LIMITED = "served", "disconnected", "limited"
REFUSED = {kind: f"refused_{kind.value}" for kind in RefusalReason}
OUTCOMES = {ANSWERED, UNSURE, FOUND, SERVED, DISCONNECTED, LIMITED, *REFUSED.values(), *ProblemKind}
EARLY_STATUS_OUTCOMES = {422: ProblemKind.INVALID.value, 429: LIMITED}
"""The outcomes of requests that ended before they reached the book."""
KNOWN_SERVICES = frozenset({"cohere", "embeddings", "language model", "log", "networks", "qdrant"})
FAILURE_KINDS: dict[type[errors.ServiceError], str] = {
    errors.ServiceUnreachableError: "unreachable",
    errors.ServiceTimeoutError: "timed_out",
    errors.ServiceAuthenticationError: "denied",
    errors.ServiceResponseError: "bad_reply",
    errors.ServiceRateLimitError: "limit_reached",
    errors.ServiceError: "rejected",  # the last, because it is the base of the others
}
RequestObserver = Callable[[RequestRecord], None]
log = logging.getLogger("bookbound.server")


def reply_outcome(reply: Reply | Retrieval) -> str:
    match reply:
        case Retrieval():
            return FOUND
        case Refusal():
            return REFUSED[reply.kind]
        case _:
            return reply.status.value


def error_outcome(error: BaseException) -> str:
    """The problem that the client sees; a cancelled request means that the client has disconnected."""
    return http_contract.problem_from_error(error, 400).kind.value if isinstance(error, Exception) else DISCONNECTED


def status_outcome(status: int | None) -> str:
    """The outcome of a request that did not reach the book."""
    if status is None:
        return DISCONNECTED
    if status < 400:
        return SERVED
    return EARLY_STATUS_OUTCOMES.get(status) or http_contract.problem_from_status(status, 400).kind.value


def classify_failure(error: errors.ServiceError) -> tuple[str, str]:
    """The name of the service and how it failed, both from fixed sets."""
    service = error.service if error.service in KNOWN_SERVICES else "other"
    return service, next(kind for type_, kind in FAILURE_KINDS.items() if isinstance(error, type_))


class OutcomeRecorder:
    """An answer backend that records the outcome of each question and search in the request."""

    def __init__(self, backend: AnswerBackend) -> None:
        self._backend = backend

    @property
    def models(self) -> dict[str, str]:
        return self._backend.models

    def health_checks(self) -> dict[str, HealthCheck]:
        return self._backend.health_checks()

    async def manifest(self, context: RequestContext) -> Manifest:
        return await self._backend.manifest(context)

    async def ask(self, question: Question, context: RequestContext) -> Reply:
        with _record_outcome("question", context.record) as set_outcome:
            reply = await self._backend.ask(question, context)
            set_outcome(reply)
            return reply

    async def search(self, question: Question, context: RequestContext) -> Retrieval:
        with _record_outcome("search", context.record) as set_outcome:
            found = await self._backend.search(question, context)
            set_outcome(found)
            return found

    async def stream(self, question: Question, context: RequestContext) -> AsyncGenerator[PipelineEvent]:
        with _record_outcome("question", context.record) as set_outcome:
            async with aclosing(self._backend.stream(question, context)) as events:
                async for event in events:
                    if isinstance(event, Reply):
                        set_outcome(event)
                    yield event


@contextmanager
def _record_outcome(kind: RequestKind, record: RequestRecord) -> Iterator[Callable[[Reply | Retrieval], None]]:
    record.kind = kind

    def set_outcome(found: Reply | Retrieval) -> None:
        record.outcome = reply_outcome(found)
        record.reply = None if isinstance(found, Retrieval) else found

    try:
        yield set_outcome
    except errors.BookNotFoundError:
        record.kind = None  # it reached no book
        raise
    except BaseException as error:
        record.outcome = record.outcome or error_outcome(error)  # a disconnect after the reply leaves it answered
        raise


@dataclass(frozen=True, slots=True)
class QueueStats:
    """The load of the server: running and waiting questions, entries of the query log, and open books."""

    running: int = 0
    waiting: int = 0
    log_added: int = 0
    log_written: int = 0
    log_lost: int = 0
    books: Mapping[BookRef, Manifest] = field(default_factory=dict)

    @property
    def log_waiting(self) -> int:
        return max(0, self.log_added - self.log_written - self.log_lost)


def log_request(record: RequestRecord) -> None:
    """Log one line for a finished request."""
    fields = {
        "method": record.method,
        "route": record.route,
        "status": record.status,
        "milliseconds": round(record.seconds * 1000, 1),
        "contract": record.contract,
        "outcome": record.outcome,
    }
    log.info("request", extra={"event": fields})


class Telemetry:
    """Reports each finished request to every observer; an observer that fails is logged once and stops no other.

    `metrics` is the observer that serves `/metrics`. `background` runs as long as the server.
    """

    def __init__(
        self,
        observers: Sequence[RequestObserver] = (log_request,),
        metrics: PrometheusMetrics | None = None,
        background: Sequence[AbstractAsyncContextManager[object]] = (),
    ) -> None:
        self._observers, self.metrics, self._background = tuple(observers), metrics, tuple(background)
        self._failed: set[RequestObserver] = set()

    def report(self, record: RequestRecord) -> None:
        for observer in self._observers:
            try:
                observer(record)
            except Exception as error:
                if observer not in self._failed:
                    self._failed.add(observer)
                    log.error("some requests are not reported: %s", type(error).__name__)

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        async with AsyncExitStack() as stack:
            for each in self._background:
                await stack.enter_async_context(each)
            yield
