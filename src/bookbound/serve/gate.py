"""What every request passes before and after its face: an id, limits on its body, headers that keep browsers safe."""

from __future__ import annotations

import asyncio
import logging
import re
import uuid
from collections.abc import Callable

from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from bookbound.entry import ASKING, Asker
from bookbound.serve.access import OPEN
from bookbound.serve.address import FORWARDED, Networks, seen
from bookbound.watch.broken import where

REQUEST_ID = "X-Request-ID"
BODY_SECONDS = 10
_GOOD_ID = re.compile(r"[A-Za-z0-9._-]{1,128}")
SAFE = {
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
    "Cache-Control": "no-store",
}
Answer = Callable[[int, Scope], Response]
log = logging.getLogger("bookbound.serve")


class Gate:
    """Wraps the application; `answer` words a status for the path that was asked for."""

    def __init__(self, app: ASGIApp, largest_body: int, answer: Answer, trusted: Networks = ()) -> None:
        self._app = app
        self._trusted = trusted
        self._largest = largest_body
        self._answer = answer

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        given = headers.get(REQUEST_ID, "")
        request_id = given if _GOOD_ID.fullmatch(given) else str(uuid.uuid4())
        scope.setdefault("state", {})["request_id"] = request_id
        peer = scope["client"][0] if scope.get("client") else None
        ASKING.set(Asker(address=seen(peer, headers.getlist(FORWARDED), self._trusted)))
        outgoing = Outgoing(send, request_id)
        try:
            if status := self._refused(scope, headers):
                raise HTTPException(status)
            await self._app(scope, self._bounded(receive), outgoing)
        except Exception as error:
            if not isinstance(error, HTTPException):
                log.error("request %s: %s in %s", request_id, type(error).__name__, where(error))
            if outgoing.started:
                raise ConnectionAbortedError("the reply broke off") from None
            status = error.status_code if isinstance(error, HTTPException) else 500
            response = self._answer(status, scope)
            response.headers.update(getattr(error, "headers", None) or {})
            await response(scope, receive, outgoing)
        except asyncio.CancelledError:
            # The server is ending and waits no longer: who still waits is told so.
            response = self._answer(503, scope)
            if not outgoing.started:
                await response(scope, receive, outgoing)
            elif outgoing.streams:
                await outgoing(
                    {"type": "http.response.body", "body": b"event: error\ndata: %b\n\n" % bytes(response.body)}
                )

    def _refused(self, scope: Scope, headers: Headers) -> int | None:
        """The status for a request that comes too late, or whose headers already say that it cannot be taken."""
        if scope["state"].get("stopping") and scope["path"] not in OPEN:
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

        async def bounded() -> Message:
            nonlocal taken, whole
            try:
                async with asyncio.timeout(None if whole else BODY_SECONDS):
                    message = await receive()
            except TimeoutError:
                raise HTTPException(408) from None
            whole = not message.get("more_body", False)
            taken += len(message.get("body", b""))
            if taken > self._largest:
                raise HTTPException(413)
            return message

        return bounded


class Outgoing:
    """Sends a response on, with the id of its request and the headers that every response has."""

    def __init__(self, send: Send, request_id: str) -> None:
        self._send = send
        self._id = request_id
        self.started = self.streams = False

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.started = True
            headers = MutableHeaders(scope=message)
            self.streams = headers.get("content-type", "").startswith("text/event-stream")
            headers[REQUEST_ID] = self._id
            if message["status"] in (408, 413):
                headers["Connection"] = "close"  # what is still to come of the body is not waited for
            for name, value in SAFE.items():
                headers.setdefault(name, value)
        elif not message.get("more_body", False):
            self.streams = False
        await self._send(message)
