"""Gives each request an ID, times it, and reports it to the log, the metrics and the traces when it ends."""

from __future__ import annotations

import logging
import re
import uuid
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from time import perf_counter
from typing import TYPE_CHECKING

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from bookbound.server import telemetry
from bookbound.server.telemetry import CURRENT_REQUEST, RequestRecord

if TYPE_CHECKING:
    from bookbound.server.telemetry.prometheus import PrometheusMetrics


REQUEST_ID_HEADER = "X-Request-ID"
_VALID_REQUEST_ID = re.compile(r"[A-Za-z0-9._-]{1,128}")
KNOWN_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
OTHER = "other"
"""Whatever is not ours: a method, a path, and the face that no face has."""


class RequestLogMiddleware:
    """Wraps the application and all that guards it; `faces` has a name for each path that something answers at."""

    def __init__(self, app: ASGIApp, watch: Telemetry, faces: Mapping[str, str]) -> None:
        self._app, self._watch, self._faces = app, watch, faces

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        method = scope["method"] if scope["method"] in KNOWN_METHODS else OTHER
        headers = Headers(scope=scope)
        given = headers.get(REQUEST_ID_HEADER, "")
        request_id = given if _VALID_REQUEST_ID.fullmatch(given) else str(uuid.uuid4())
        scope.setdefault("state", {})["request_id"] = request_id
        visit = RequestRecord(method, scope["state"], traceparent=headers.get("traceparent", ""))
        CURRENT_REQUEST.set(visit)

        async def noted(message: Message) -> None:
            if message["type"] == "http.response.start":
                visit.status = message["status"]
                MutableHeaders(scope=message)[REQUEST_ID_HEADER] = request_id
            await send(message)

        try:
            await self._app(scope, receive, noted)
        finally:
            self._end(visit, scope)
            self._watch.over(visit)

    def _end(self, visit: RequestRecord, scope: Scope) -> None:
        visit.seconds = perf_counter() - visit.began
        route = str(getattr(scope.get("route"), "path", scope["path"]))
        visit.route = route if route in self._faces else OTHER
        visit.face = self._faces.get(route, OTHER)
        broken_off = telemetry.DISCONNECTED if visit.asked else telemetry.status_outcome(visit.status)
        visit.outcome = visit.outcome or broken_off


RequestObserver = Callable[[RequestRecord], None]
log = logging.getLogger("bookbound.server")


def log_request(visit: RequestRecord) -> None:
    """One line for a request that is over."""
    seen = {
        "method": visit.method,
        "route": visit.route,
        "status": visit.status,
        "milliseconds": round(visit.seconds * 1000, 1),
        "face": visit.face,
        "outcome": visit.outcome,
    }
    log.info("request", extra={"event": seen})


class Telemetry:
    """Tells every watcher of every request; a watcher that fails is told of once, and fails nobody else.

    `metrics` is the one whose figures are shown. `open` is what works beside the requests, as long as they are served.
    """

    def __init__(
        self,
        watchers: Sequence[RequestObserver] = (log_request,),
        metrics: PrometheusMetrics | None = None,
        open: Sequence[AbstractAsyncContextManager[object]] = (),  # noqa: A002
    ) -> None:
        self._watchers, self.metrics, self._open = tuple(watchers), metrics, tuple(open)
        self._failed: set[RequestObserver] = set()

    def over(self, visit: RequestRecord) -> None:
        """A request is over."""
        for watcher in self._watchers:
            try:
                watcher(visit)
            except Exception as trouble:
                if watcher not in self._failed:
                    self._failed.add(watcher)
                    log.error("requests are not all watched: %s", type(trouble).__name__)

    @asynccontextmanager
    async def kept(self) -> AsyncIterator[None]:
        """Watch as long as this lasts."""
        async with AsyncExitStack() as held:
            for each in self._open:
                await held.enter_async_context(each)
            yield
