"""Follows each request from its head to its end: gives it its id and book, and reports its outcome."""

from __future__ import annotations

import logging
import re
import uuid
from collections.abc import AsyncGenerator, Callable, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, aclosing, contextmanager
from dataclasses import dataclass, field
from time import perf_counter
from typing import TYPE_CHECKING

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from bookbound.contracts import http_contract
from bookbound.contracts.http_contract import AnswerBackend, HealthCheck, ProblemKind
from bookbound.contracts.request_context import RequestContext, RequestKind, RequestRecord
from bookbound.domain import errors
from bookbound.domain.book_ref import UNNAMED_BOOK, BookRef
from bookbound.domain.judgement import RefusalReason, ReplyStatus
from bookbound.domain.manifest import Manifest
from bookbound.domain.question import Question, Retrieval
from bookbound.domain.reply import PipelineEvent, Refusal, Reply
from bookbound.domain.trace import Requester
from bookbound.server.rate_limit import ClientAddressFinder
from bookbound.server.telemetry.log_format import LOGGED_REQUEST_ID

if TYPE_CHECKING:
    from bookbound.server.middleware.request_guard import RouteTable
    from bookbound.server.telemetry.prometheus import PrometheusMetrics

ANSWERED, UNSURE, FOUND = ReplyStatus.ANSWERED.value, ReplyStatus.UNSURE.value, "found"
SERVED, DISCONNECTED, LIMITED = "served", "disconnected", "limited"
REFUSED = {kind: f"refused_{kind.value}" for kind in RefusalReason}
OUTCOMES = {ANSWERED, UNSURE, FOUND, SERVED, DISCONNECTED, LIMITED, *REFUSED.values(), *ProblemKind}
EARLY_STATUS_OUTCOMES = {422: ProblemKind.INVALID.value, 429: LIMITED}
"""The outcomes of requests that ended before they reached the book."""
OTHER = "other"
"""Replaces a method or path that is not ours, so that logs and metrics contain no text from clients."""
REQUEST_ID_HEADER = "X-Request-ID"
BOOK_HEADERS = BOOK_HEADER, EDITION_HEADER = "Bookbound-Book", "Bookbound-Edition"
KNOWN_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
INVALID_BOOK = BookRef("-", "-")
"""Replaces a name that no book can have."""
_VALID_REQUEST_ID = re.compile(r"[A-Za-z0-9._-]{1,128}")
_BOOK_PATH = re.compile(r"/books/(?P<book>[^/]+)(?P<rest>/.*)")
RequestObserver = Callable[[RequestRecord], None]
log = logging.getLogger("bookbound.server")


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
        with _record_outcome("question", context.record):
            return _record_reply(await self._backend.ask(question, context), context.record)

    async def search(self, question: Question, context: RequestContext) -> Retrieval:
        with _record_outcome("search", context.record):
            found = await self._backend.search(question, context)
            context.record.outcome = FOUND
            return found

    async def stream(self, question: Question, context: RequestContext) -> AsyncGenerator[PipelineEvent]:
        with _record_outcome("question", context.record):
            async with aclosing(self._backend.stream(question, context)) as events:
                async for event in events:
                    yield _record_reply(event, context.record) if isinstance(event, Reply) else event


@contextmanager
def _record_outcome(kind: RequestKind, record: RequestRecord) -> Iterator[None]:
    record.kind = kind
    try:
        yield
    except errors.BookNotFoundError:
        record.kind = None  # it reached no book
        raise
    except BaseException as error:
        record.outcome = record.outcome or error_outcome(error)  # a disconnect after the reply leaves it answered
        raise


def _record_reply(reply: Reply, record: RequestRecord) -> Reply:
    record.outcome = REFUSED[reply.kind] if isinstance(reply, Refusal) else reply.status.value
    record.reply = reply
    return reply


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

    `metrics` is the observer that serves `/metrics`. `background` is what runs as long as the server.
    """

    def __init__(
        self,
        observers: Sequence[RequestObserver] = (log_request,),
        metrics: PrometheusMetrics | None = None,
        background: Sequence[AbstractAsyncContextManager[object]] = (),
    ) -> None:
        self._observers, self.metrics, self.background = tuple(observers), metrics, tuple(background)
        self._failed: set[RequestObserver] = set()

    def report(self, record: RequestRecord) -> None:
        for observer in self._observers:
            try:
                observer(record)
            except Exception as error:
                if observer not in self._failed:
                    self._failed.add(observer)
                    log.error("some requests are not reported: %s", type(error).__name__)


class RequestLogMiddleware:
    """The outermost layer: it also finds the route, so that every other layer judges the same one."""

    def __init__(
        self, app: ASGIApp, telemetry: Telemetry, routes: RouteTable, find_address: ClientAddressFinder
    ) -> None:
        self._app, self._telemetry = app, telemetry
        self._routes, self._find_address = routes, find_address

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        if scope["path"] != "/":  # `/ask/` is the same path as `/ask` for keys, limits, routes and error bodies
            scope["path"] = scope["path"].removesuffix("/")
        sent_id = headers.get(REQUEST_ID_HEADER, "")
        record = RequestRecord(
            sent_id if _VALID_REQUEST_ID.fullmatch(sent_id) else str(uuid.uuid4()),
            scope["method"] if scope["method"] in KNOWN_METHODS else OTHER,
            headers.get("traceparent", ""),
        )
        requester = Requester(address=self._find_address(scope, headers), request_id=record.request_id)
        context = RequestContext(record, self._take_book(scope, headers), requester)
        scope.setdefault("state", {}).update(context=context, route=self._routes.match(scope["path"]))
        LOGGED_REQUEST_ID.set(record.request_id)

        async def send_with_id(message: Message) -> None:
            if message["type"] == "http.response.start":
                record.status = message["status"]
                MutableHeaders(scope=message)[REQUEST_ID_HEADER] = record.request_id
            await send(message)

        try:
            await self._app(scope, receive, send_with_id)
        finally:
            record.seconds = perf_counter() - record.clock.started
            route = scope["state"]["route"]
            record.route, record.contract = route.path or OTHER, route.contract
            record.outcome = record.outcome or (DISCONNECTED if record.kind else status_outcome(record.status))
            self._telemetry.report(record)

    def _take_book(self, scope: Scope, headers: Headers) -> BookRef | None:
        """The book that the path (`/books/NAME@EDITION/ask`) or else the headers name; its part of the path is removed.

        The public routes are about the service, so they do not exist for a single book.
        """
        found = _BOOK_PATH.fullmatch(scope["path"])
        if found and not self._routes.match(found["rest"]).is_public:
            scope["path"] = found["rest"]
        try:
            book = BookRef.parse(found["book"] if found else headers.get(BOOK_HEADER, ""))
            book = BookRef(book.book, book.edition or headers.get(EDITION_HEADER, "")).validated()
        except errors.InvalidInputError:
            return INVALID_BOOK
        if book == UNNAMED_BOOK:
            return INVALID_BOOK if found else None
        return book
