"""What every request passes before and after its face: whose it is, limits on its body, headers for safe browsers."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable

from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from bookbound.entry import ASKING, Asker
from bookbound.serve.access import OPEN, Refused
from bookbound.serve.address import FORWARDED, Networks, believed, seen
from bookbound.watch import outcome
from bookbound.watch.broken import where
from bookbound.watch.visit import VISIT

BODY_SECONDS = 10
SAFE = {
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
    "Cache-Control": "no-store",
}
UNBELIEVED = (
    f"a request came with {FORWARDED} from an address that `proxies` does not name, so the header was not believed; if "
    "that is a proxy of yours, set `proxies` to its address or network, or all readers behind it share one limit"
)
Answer = Callable[[int, Scope, str], Response]
"""Words a status for a path; the last are the words that are more to the point, if there are any."""
log = logging.getLogger("bookbound.serve")


class Gate:
    """Wraps the application; `answer` says what a client is told."""

    def __init__(self, app: ASGIApp, largest_body: int, answer: Answer, trusted: Networks = ()) -> None:
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
        ASKING.set(Asker(address=self._address(scope, headers)))
        outgoing = Outgoing(send)
        try:
            if status := self._refused(scope, headers):
                raise HTTPException(status)
            await self._app(scope, self._bounded(receive), outgoing)
        except Exception as error:
            if not isinstance(error, HTTPException):
                log.error("request %s: %s in %s", scope["state"]["request_id"], type(error).__name__, where(error))
            if outgoing.started:
                raise ConnectionAbortedError("the reply broke off") from None
            status = error.status_code if isinstance(error, HTTPException) else 500
            response = self._answer(status, scope, error.detail if isinstance(error, Refused) else "")
            response.headers.update(getattr(error, "headers", None) or {})
            await response(scope, receive, outgoing)
        except asyncio.CancelledError:
            # The server is ending and waits no longer: who still waits is told so.
            _stayed()
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
        forwarded = headers.getlist(FORWARDED)
        if forwarded and not self._doubted and not believed(peer, self._trusted):
            self._doubted = True
            log.warning(UNBELIEVED)
        return seen(peer, forwarded, self._trusted)

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
        until = asyncio.get_running_loop().time() + BODY_SECONDS

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


class Outgoing:
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
            for name, value in SAFE.items():
                headers.setdefault(name, value)
        elif not message.get("more_body", False):
            self.streams = False
        await self._send(message)


def _stayed() -> None:
    """Whoever asked has not left: it is the server that ends."""
    visit = VISIT.get()
    if visit and visit.outcome == outcome.LEFT:
        visit.outcome = outcome.of_status(503)
