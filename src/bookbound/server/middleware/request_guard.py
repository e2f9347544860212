"""Limits request bodies, adds security headers, turns failures into responses, and cancels work when a client disconnects."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable

from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from bookbound.domain.query_log_entry import CURRENT_REQUESTER, Requester
from bookbound.server import telemetry
from bookbound.server.middleware.client_identity import (
    FORWARDED_HEADER,
    PUBLIC_PATHS,
    KeyNotAllowedError,
    TrustedNetworks,
    find_client_address,
    is_trusted_proxy,
)
from bookbound.server.telemetry import CURRENT_REQUEST
from bookbound.server.telemetry.log_format import describe_location

BODY_TIMEOUT_SECONDS = 10
SECURITY_HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
    "Cache-Control": "no-store",
}
UNTRUSTED_PROXY_WARNING = (
    f"a request came with {FORWARDED_HEADER} from an address that `proxies` does not name, so the header was not believed; if "
    "that is a proxy of yours, set `proxies` to its address or network, or all readers behind it share one limit"
)
StatusResponder = Callable[[int, Scope, str], Response]
"""Words a status for a path; the last are the words that are more to the point, if there are any."""
log = logging.getLogger("bookbound.server")


class RequestGuardMiddleware:
    """Wraps the application; `answer` says what a client is told."""

    def __init__(self, app: ASGIApp, largest_body: int, answer: StatusResponder, trusted: TrustedNetworks = ()) -> None:
        self._app = app
        self._trusted = trusted
        self._largest = largest_body
        self._answer = answer
        self._doubted = False

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        CURRENT_REQUESTER.set(Requester(address=self._address(scope, headers)))
        outgoing = ResponseSender(send)
        try:
            if status := self._refused(scope, headers):
                raise HTTPException(status)
            await self._app(scope, self._bounded(receive), outgoing)
        except Exception as error:
            if not isinstance(error, HTTPException):
                log.error(
                    "request %s: %s in %s", scope["state"]["request_id"], type(error).__name__, describe_location(error)
                )
            if outgoing.started:
                raise ConnectionAbortedError("the reply broke off") from None
            status = error.status_code if isinstance(error, HTTPException) else 500
            response = self._answer(status, scope, error.detail if isinstance(error, KeyNotAllowedError) else "")
            response.headers.update(getattr(error, "headers", None) or {})
            await response(scope, receive, outgoing)
        except asyncio.CancelledError:
            # The server is ending and waits no longer: who still waits is told so.
            _record_shutdown()
            response = self._answer(503, scope, "")
            if not outgoing.started:
                await response(scope, receive, outgoing)
            elif outgoing.streams:
                await outgoing(
                    {"type": "http.response.body", "body": b"event: error\ndata: %b\n\n" % bytes(response.body)}
                )

    def _address(self, scope: Scope, headers: Headers) -> str | None:
        """Where a request comes from; that it says so itself and is not believed is told once."""
        peer = scope["client"][0] if scope.get("client") else None
        forwarded = headers.getlist(FORWARDED_HEADER)
        if forwarded and not self._doubted and not is_trusted_proxy(peer, self._trusted):
            self._doubted = True
            log.warning(UNTRUSTED_PROXY_WARNING)
        return find_client_address(peer, forwarded, self._trusted)

    def _refused(self, scope: Scope, headers: Headers) -> int | None:
        """The status for a request that comes too late, or whose headers already say that it cannot be taken."""
        if scope["state"].get("stopping") and scope["path"] not in PUBLIC_PATHS:
            return 503
        length = headers.get("content-length", "0")
        if length.isdigit() and int(length) > self._largest:
            return 413
        kind = headers.get("content-type", "").partition(";")[0].strip().lower()
        has_body = length != "0" or "transfer-encoding" in headers
        return 415 if scope["method"] == "POST" and has_body and kind != "application/json" else None

    def _bounded(self, receive: Receive) -> Receive:
        """Stops a body that grows beyond the limit, whatever its headers said, or that does not arrive."""
        taken, whole = 0, False
        until = asyncio.get_running_loop().time() + BODY_TIMEOUT_SECONDS

        async def bounded() -> Message:
            nonlocal taken, whole
            try:
                async with asyncio.timeout_at(None if whole else until):
                    message = await receive()
            except TimeoutError:
                raise HTTPException(408) from None
            whole = not message.get("more_body", False)
            taken += len(message.get("body", b""))
            if taken > self._largest:
                raise HTTPException(413)
            return message

        return bounded


class ResponseSender:
    """Sends a response on, with the headers that every response has."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self.started = self.streams = False

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.started = True
            headers = MutableHeaders(scope=message)
            self.streams = headers.get("content-type", "").startswith("text/event-stream")
            if message["status"] in (408, 413):
                headers["Connection"] = "close"  # what is still to come of the body is not waited for
            for name, value in SECURITY_HEADERS.items():
                headers.setdefault(name, value)
        elif not message.get("more_body", False):
            self.streams = False
        await self._send(message)


def _record_shutdown() -> None:
    """Whoever asked has not left: it is the server that ends."""
    visit = CURRENT_REQUEST.get()
    if visit and visit.outcome == telemetry.DISCONNECTED:
        visit.outcome = telemetry.status_outcome(503)


class CancelOnDisconnectMiddleware:
    """Wraps the application, and ends what it does for a client that is gone; a stream sees to that by itself."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        task = asyncio.current_task()
        assert task is not None
        client = DisconnectWatcher(receive, send, task)
        try:
            await self._app(scope, client.receive, client.send)
        except asyncio.CancelledError:
            if not client.left:
                raise
            task.uncancel()
        finally:
            client.let_go()


class DisconnectWatcher:
    """What comes from a client and goes to it; from the end of its body on, `task` ends where the client leaves."""

    def __init__(self, receive: Receive, send: Send, task: asyncio.Task[None]) -> None:
        self._receive, self._send, self._task = receive, send, task
        self._gone, self._replied, self.left = asyncio.Event(), False, False
        self._watching: asyncio.Task[None] | None = None

    async def receive(self) -> Message:
        if self._watching:
            await self._gone.wait()
            return {"type": "http.disconnect"}
        message = await self._receive()
        if message["type"] == "http.request" and not message.get("more_body", False):
            self._watching = asyncio.create_task(self._watch())
        return message

    async def send(self, message: Message) -> None:
        self._replied = True
        await self._send(message)

    def let_go(self) -> None:
        if self._watching:
            self._watching.cancel()

    async def _watch(self) -> None:
        await self._receive()  # after the whole body it tells one thing alone: that nobody is there any more
        self._gone.set()
        if not self._replied:
            self.left = True
            self._task.cancel()
