"""Decides who may ask and who may read the reply: checks the API key of a request, and the origin of a web page."""

from __future__ import annotations

import logging
from collections.abc import Sequence

from fastapi import Request
from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.middleware.cors import CORSMiddleware
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from bookbound.contracts.http_contract import get_context
from bookbound.server.api_keys import ApiKey, KeyKind, ReloadingKeyRing, parse_origins
from bookbound.server.middleware.request_guard import matched_route
from bookbound.server.rate_limit import RATE_LIMIT_HEADERS
from bookbound.server.telemetry import BOOK_HEADERS, REQUEST_ID_HEADER

API_KEY_HEADER = "X-API-Key"
SECURITY_SCHEMES = {
    "bearer": {"type": "http", "scheme": "bearer"},
    "header": {"type": "apiKey", "in": "header", "name": API_KEY_HEADER},
}
SECURITY_REQUIREMENTS: list[dict[str, list[str]]] = [{name: []} for name in SECURITY_SCHEMES]
CHALLENGE_HEADER = "WWW-Authenticate"
BEARER_CHALLENGE = 'Bearer realm="bookbound"'
ORIGIN_REQUIRED = (
    "This key works only on the web pages of its origins, and the request has no origin. For a program, use a key "
    "that was made with --any-origin."
)
ORIGIN_NOT_ALLOWED = "This key does not work from the origin of this request. Use a key that was made for it."
ADMIN_KEY_REQUIRED = "This needs an admin key. Ask the operator for one."
ORIGIN_REFUSED_WARNING = (
    "a page of another origin may not read the reply; to allow it, add its origin to `allowed_origins`, or make a key "
    "with `bookbound key new --origin`"
)
METRICS = "metrics"
"""The routes that no page of another origin may read, because they are for the operator."""
KEY_ERRORS = (401, 403)
"""What a page may read although its key is wrong."""
log = logging.getLogger("bookbound.server")


class KeyNotAllowedError(HTTPException):
    """A valid key does not allow the request."""

    def __init__(self, reason: str) -> None:
        super().__init__(403, reason, {CHALLENGE_HEADER: f'{BEARER_CHALLENGE}, error="insufficient_scope"'})


def check_key(headers: Headers, keys: ReloadingKeyRing, *, required: bool) -> ApiKey | None:
    """The key of a request; a key in our own header must be valid even if none is required.

    If none is required, an unknown bearer token is ignored, because it may be meant for a proxy.
    """
    secret = read_api_key(headers)
    if secret is None:
        if required:
            raise HTTPException(401, headers={CHALLENGE_HEADER: BEARER_CHALLENGE})
        return None
    key = keys.ring.find(secret)
    if key is None and not required and API_KEY_HEADER not in headers:
        return None
    if key is None:
        raise HTTPException(401, headers={CHALLENGE_HEADER: f'{BEARER_CHALLENGE}, error="invalid_token"'})
    is_own_admin = key.kind is KeyKind.ADMIN and is_own_page(headers)
    if not is_own_admin and not key.allows(headers.get("origin")):
        raise KeyNotAllowedError(ORIGIN_NOT_ALLOWED if "origin" in headers else ORIGIN_REQUIRED)
    return key


def is_own_page(headers: Headers) -> bool:
    """Whether a request comes from a page that this server shows."""
    return headers.get("origin", "").partition("://")[2] == headers.get("host")


def read_api_key(headers: Headers) -> str | None:
    """The secret of a request; our own header wins over `Authorization`, which a proxy may have added."""
    if API_KEY_HEADER in headers:
        return headers[API_KEY_HEADER].strip()
    scheme, _, secret = headers.get("authorization", "").partition(" ")
    return secret.strip() if scheme.lower() == "bearer" else None


def require_admin(request: Request) -> str:
    """The id of the request's admin key; a request without one is rejected."""
    context = get_context(request)
    if context.key_id is None:
        raise HTTPException(401, headers={CHALLENGE_HEADER: BEARER_CHALLENGE})
    if not context.is_admin:
        raise KeyNotAllowedError(ADMIN_KEY_REQUIRED)
    return context.key_id


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
        if scope["type"] == "http":
            if matched_route(scope).contract == METRICS:
                await self.app(scope, receive, send)
                return
            origin = (headers := Headers(scope=scope)).get("origin")
            if origin and not (is_own_page(headers) or self.is_allowed_origin(origin)):
                log.warning(ORIGIN_REFUSED_WARNING)
        await super().__call__(scope, receive, send)

    async def send(self, message: Message, send: Send, request_headers: Headers) -> None:
        is_start = message["type"] == "http.response.start" and "origin" in request_headers
        if is_start and not self._may_read(request_headers, message["status"]):
            request_headers = Headers()  # as if the page had not said its origin
        await super().send(message, send, request_headers)

    def _may_read(self, headers: Headers, status: int) -> bool:
        """Whether the settings, a key that names the origin, or the key of the request allow its origin."""
        origin, ring = headers.get("origin", ""), self._keys.ring
        if super().is_allowed_origin(origin) or ring.names_origin(origin):
            return True
        key = ring.find(read_api_key(headers) or "")
        return key.allows(origin) if key else status in KEY_ERRORS
