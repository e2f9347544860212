"""Sees each request from its first to its last byte, and gives it an id."""

from __future__ import annotations

import re
import uuid
from collections.abc import Mapping
from time import perf_counter

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from bookbound.watch import outcome
from bookbound.watch.visit import VISIT, Visit
from bookbound.watch.watch import Watch

REQUEST_ID = "X-Request-ID"
_GOOD_ID = re.compile(r"[A-Za-z0-9._-]{1,128}")
METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
OTHER = "other"
"""Whatever is not ours: a method, a path, and the face that no face has."""


class Onlooker:
    """Wraps the application and all that guards it; `faces` has a name for each path that something answers at."""

    def __init__(self, app: ASGIApp, watch: Watch, faces: Mapping[str, str]) -> None:
        self._app, self._watch, self._faces = app, watch, faces

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        method = scope["method"] if scope["method"] in METHODS else OTHER
        headers = Headers(scope=scope)
        given = headers.get(REQUEST_ID, "")
        request_id = given if _GOOD_ID.fullmatch(given) else str(uuid.uuid4())
        scope.setdefault("state", {})["request_id"] = request_id
        visit = Visit(method, scope["state"], traceparent=headers.get("traceparent", ""))
        VISIT.set(visit)

        async def noted(message: Message) -> None:
            if message["type"] == "http.response.start":
                visit.status = message["status"]
                MutableHeaders(scope=message)[REQUEST_ID] = request_id
            await send(message)

        try:
            await self._app(scope, receive, noted)
        finally:
            self._end(visit, scope)
            self._watch.over(visit)

    def _end(self, visit: Visit, scope: Scope) -> None:
        visit.seconds = perf_counter() - visit.began
        route = str(getattr(scope.get("route"), "path", scope["path"]))
        visit.route = route if route in self._faces else OTHER
        visit.face = self._faces.get(route, OTHER)
        broken_off = outcome.LEFT if visit.asked else outcome.of_status(visit.status)
        visit.outcome = visit.outcome or broken_off
