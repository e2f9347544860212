"""Gives each request its ID, its context and its book, and reports the request when it ends."""

from __future__ import annotations

import re
import uuid

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from bookbound.contracts.request_context import RequestContext, RequestRecord
from bookbound.domain.book_ref import UNNAMED_BOOK, BookRef
from bookbound.domain.errors import InvalidInputError
from bookbound.domain.trace import Requester
from bookbound.server.matched_route import OTHER, RouteTable, matched_route
from bookbound.server.middleware.client_identity import PUBLIC_ROUTES, ClientAddressFinder
from bookbound.server.telemetry import DISCONNECTED, Telemetry, status_outcome
from bookbound.server.telemetry.log_format import LOGGED_REQUEST_ID

REQUEST_ID_HEADER = "X-Request-ID"
BOOK_HEADERS = BOOK_HEADER, EDITION_HEADER = "Bookbound-Book", "Bookbound-Edition"
KNOWN_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
INVALID_BOOK = BookRef("-", "-")
"""Replaces a name that no book can have."""
_VALID_REQUEST_ID = re.compile(r"[A-Za-z0-9._-]{1,128}")
_BOOK_PATH = re.compile(r"/books/(?P<book>[^/]+)(?P<rest>/.*)")


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
            self._finish(record, scope)
            self._telemetry.report(record)

    def _finish(self, record: RequestRecord, scope: Scope) -> None:
        record.stop()
        route = matched_route(scope)
        record.route, record.contract = route.path or OTHER, route.contract
        if not record.outcome:
            record.outcome = DISCONNECTED if record.kind else status_outcome(record.status)

    def _take_book(self, scope: Scope, headers: Headers) -> BookRef | None:
        """The book that the path (`/books/NAME@EDITION/ask`) or else the headers name; its part of the path is removed.

        The public routes are about the service, so they do not exist for a single book.
        """
        found = _BOOK_PATH.fullmatch(scope["path"])
        if found and self._routes.match(found["rest"]).path not in PUBLIC_ROUTES:
            scope["path"] = found["rest"]
        try:
            book = BookRef.parse(found["book"] if found else headers.get(BOOK_HEADER, ""))
            book = BookRef(book.book, book.edition or headers.get(EDITION_HEADER, "")).validated()
        except InvalidInputError:
            return INVALID_BOOK
        if book == UNNAMED_BOOK:
            return INVALID_BOOK if found else None
        return book
