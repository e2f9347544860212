"""Rejects requests that have no route, are too large or lack a key, and turns failures into responses."""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.responses import Response
from starlette.routing import BaseRoute, Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from bookbound.contracts.request_context import RequestContext
from bookbound.server import telemetry
from bookbound.server.api_keys import ApiKey, KeyKind
from bookbound.server.page import ASSET_PATHS
from bookbound.server.telemetry.log_format import describe_traceback

PUBLIC_ROUTES = frozenset(
    {"/health", "/health/ready", "/api/v1/health", "/openapi.json", "/docs", "/metrics", "/report", *ASSET_PATHS}
)
"""The routes that reveal nothing about the book; if keys are required, every other path needs one."""
BODY_TIMEOUT_SECONDS = 10
HEALTH = "health"
"""The routes that orchestrators ask under any name."""
SECURITY_HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
    "Cache-Control": "no-store",
}
KeyChecker = Callable[[Headers], ApiKey | None]
ErrorResponder = Callable[[Exception, Scope], Response]
"""Builds the response to an error in the format of the requested path."""
log = logging.getLogger("bookbound.server")


@dataclass(frozen=True, slots=True)
class MatchedRoute:
    """The path of a route as the server defines it, and the name of its contract."""

    path: str = ""
    contract: str = telemetry.OTHER
    is_public: bool = False


NO_ROUTE = MatchedRoute()


class RouteTable:
    """Finds routes by their whole path; the router itself ignores a line break at the end of one."""

    def __init__(self, list_routes: Callable[[], Iterable[BaseRoute]]) -> None:
        self._list_routes = list_routes

    def match(self, path: str) -> MatchedRoute:
        return next((found for route, found in self._routes if route.path_regex.fullmatch(path)), NO_ROUTE)

    @cached_property
    def _routes(self) -> list[tuple[Route, MatchedRoute]]:
        routes = [route for route in self._list_routes() if isinstance(route, Route)]
        return [(route, _describe_route(route)) for route in routes]


def _describe_route(route: Route) -> MatchedRoute:
    tags = getattr(route, "tags", ()) or [telemetry.OTHER]
    return MatchedRoute(route.path, str(tags[0]), route.path in PUBLIC_ROUTES)


def matched_route(scope: Scope) -> MatchedRoute:
    """The route that the outermost layer found for a request."""
    found: MatchedRoute = scope["state"]["route"]
    return found


class RequestGuardMiddleware:
    """Protects the application; `respond` builds the error responses."""

    def __init__(
        self,
        app: ASGIApp,
        max_body_bytes: int,
        allowed_hosts: Sequence[str],
        check_key: KeyChecker,
        respond: ErrorResponder,
    ) -> None:
        self._app, self._max_body_bytes = app, max_body_bytes
        self._allowed_hosts = frozenset(map(str.lower, allowed_hosts))
        self._check_key, self._respond = check_key, respond

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        response = ResponseSender(send, scope)
        try:
            self._admit(scope)
            await DisconnectWatcher(self._limit_body(receive), response).run(self._app, scope)
        except Exception as error:
            if not isinstance(error, HTTPException):
                request_id = scope["state"]["context"].record.request_id
                log.error("request %s: %s in %s", request_id, type(error).__name__, describe_traceback(error))
            if response.started:
                raise ConnectionAbortedError("the response was interrupted") from None
            await self._respond(error, scope)(scope, receive, response)
        except asyncio.CancelledError:
            await self._report_shutdown(scope, receive, response)

    def _admit(self, scope: Scope) -> None:
        """Reject a request because of its headers, its key or its path; otherwise add its key to its context."""
        route, headers = matched_route(scope), Headers(scope=scope)
        if scope["state"].get("stopping") and not route.is_public:
            raise HTTPException(503)
        host = re.sub(r":\d*$", "", headers.get("host", "").lower())  # without the port
        if self._allowed_hosts and route.contract != HEALTH and host not in self._allowed_hosts:
            raise HTTPException(421)  # the page of another site may have led a browser here under its own name
        length = headers.get("content-length", "0")
        if length.isdigit() and int(length) > self._max_body_bytes:
            raise HTTPException(413)
        has_body = length != "0" or "transfer-encoding" in headers
        media_type = headers.get("content-type", "").partition(";")[0].strip().lower()
        if scope["method"] == "POST" and has_body and media_type != "application/json":
            raise HTTPException(415)
        if not route.is_public and (key := self._check_key(headers)):
            context: RequestContext = scope["state"]["context"]
            scope["state"]["context"] = replace(context, key_id=key.id, is_admin=key.kind is KeyKind.ADMIN)
        if route is NO_ROUTE:  # the last check: without a key nobody learns which paths exist
            raise HTTPException(404)

    async def _report_shutdown(self, scope: Scope, receive: Receive, response: ResponseSender) -> None:
        """Send an error to a client that still waits: the server is stopping."""
        record = scope["state"]["context"].record
        if record.outcome == telemetry.DISCONNECTED:
            record.outcome = telemetry.status_outcome(503)
        error = self._respond(HTTPException(503), scope)
        if not response.started:
            await error(scope, receive, response)
        elif response.streams:
            event = b"event: error\ndata: %b\n\n" % bytes(error.body)
            await response({"type": "http.response.body", "body": event})

    def _limit_body(self, receive: Receive) -> Receive:
        """Stop a body that is larger than its headers say, or that does not arrive in time."""
        size, is_complete = 0, False
        deadline = asyncio.get_running_loop().time() + BODY_TIMEOUT_SECONDS

        async def receive_limited() -> Message:
            nonlocal size, is_complete
            try:
                async with asyncio.timeout_at(None if is_complete else deadline):
                    message = await receive()
            except TimeoutError:
                raise HTTPException(408) from None
            is_complete = not message.get("more_body", False)
            size += len(message.get("body", b""))
            if size > self._max_body_bytes:
                raise HTTPException(413)
            return message

        return receive_limited


class ResponseSender:
    """Sends a response with the security headers and those that the request's state names."""

    def __init__(self, send: Send, scope: Scope) -> None:
        self._send, self._state = send, scope["state"]
        self.started = self.streams = False

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.started = True
            headers = MutableHeaders(scope=message)
            self.streams = headers.get("content-type", "").startswith("text/event-stream")
            if message["status"] in (408, 413):
                headers["Connection"] = "close"  # the rest of the body is not read
            headers.update(self._state.get("response_headers", {}))
            for name, value in SECURITY_HEADERS.items():
                headers.setdefault(name, value)
        elif not message.get("more_body", False):
            self.streams = False
        await self._send(message)


class DisconnectWatcher:
    """Runs an application, and cancels it if the client disconnects after its body and before the response begins."""

    def __init__(self, receive: Receive, send: Send) -> None:
        self._receive, self._send, self._task = receive, send, asyncio.current_task()
        self._disconnected, self._has_response, self._has_cancelled = asyncio.Event(), False, False
        self._watching: asyncio.Task[None] | None = None

    async def run(self, app: ASGIApp, scope: Scope) -> None:
        assert self._task
        try:
            await app(scope, self.receive, self.send)
        except asyncio.CancelledError:
            if not self._has_cancelled:
                raise  # the server is stopping
            self._task.uncancel()
        finally:
            if self._watching:
                self._watching.cancel()

    async def receive(self) -> Message:
        if self._watching:
            await self._disconnected.wait()
            return {"type": "http.disconnect"}
        message = await self._receive()
        if message["type"] == "http.request" and not message.get("more_body", False):
            self._watching = asyncio.create_task(self._watch())
        return message

    async def send(self, message: Message) -> None:
        self._has_response = True
        await self._send(message)

    async def _watch(self) -> None:
        await self._receive()  # after the body, the only message left is the disconnect
        self._disconnected.set()
        if self._task and not self._has_response:
            self._has_cancelled = self._task.cancel()
