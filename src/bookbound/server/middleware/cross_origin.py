"""Decides which pages of other origins may read a reply."""

from __future__ import annotations

import logging
from collections.abc import Sequence

from starlette.datastructures import Headers
from starlette.middleware.cors import CORSMiddleware
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from bookbound.server.api_keys import ReloadingKeyRing, parse_origins
from bookbound.server.matched_route import matched_route
from bookbound.server.middleware.client_identity import API_KEY_HEADER, is_own_page, read_api_key
from bookbound.server.middleware.request_log import BOOK_HEADERS, REQUEST_ID_HEADER
from bookbound.server.rate_limit import RATE_LIMIT_HEADERS

ORIGIN_REFUSED_WARNING = (
    "a page of another origin may not read the reply; to allow it, add its origin to `allowed_origins`, or make a key "
    "with `bookbound key new --origin`"
)
METRICS = "metrics"
"""The routes that no page of another origin may read, because they are for the operator."""
KEY_ERRORS = (401, 403)
"""What a page may read although its key is wrong."""
log = logging.getLogger("bookbound.server")


class ApiKeyCORSMiddleware(CORSMiddleware):
    """Allows the origins of the settings and those of the current keys, and logs how to allow another.

    A key for any origin lets a page read the replies to this key and no others.
    """

    def __init__(self, app: ASGIApp, origins: Sequence[str], keys: ReloadingKeyRing) -> None:
        super().__init__(
            app,
            allow_origins=parse_origins(origins),
            allow_methods=["GET", "POST"],
            allow_headers=["Content-Type", REQUEST_ID_HEADER, "Authorization", API_KEY_HEADER, *BOOK_HEADERS],
            expose_headers=[REQUEST_ID_HEADER, "Retry-After", "WWW-Authenticate", *RATE_LIMIT_HEADERS],
        )
        self._keys = keys

    def is_allowed_origin(self, origin: str) -> bool:
        return super().is_allowed_origin(origin) or self._keys.ring.allows_origin(origin)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and matched_route(scope).contract == METRICS:
            await self.app(scope, receive, send)
            return
        if scope["type"] == "http" and self._refuses(Headers(scope=scope)):
            log.warning(ORIGIN_REFUSED_WARNING)
        await super().__call__(scope, receive, send)

    async def send(self, message: Message, send: Send, request_headers: Headers) -> None:
        if message["type"] == "http.response.start" and not self._may_read(request_headers, message["status"]):
            request_headers = Headers()  # as if the page had not said its origin
        await super().send(message, send, request_headers)

    def _may_read(self, headers: Headers, status: int) -> bool:
        """Whether the settings, a key that names the origin, or the key of the request allow its origin."""
        origin, ring = headers.get("origin", ""), self._keys.ring
        if super().is_allowed_origin(origin) or ring.names_origin(origin):
            return True
        key = ring.find(read_api_key(headers) or "")
        return key.allows(origin) if key else status in KEY_ERRORS

    def _refuses(self, headers: Headers) -> bool:
        """Whether a request comes from a page of another origin that is not allowed."""
        origin = headers.get("origin", "")
        return bool(origin) and not is_own_page(headers) and not self.is_allowed_origin(origin)
