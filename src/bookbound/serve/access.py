"""Who may do what: a key is recognised, and where one is needed nothing goes on without."""

from __future__ import annotations

from fastapi import Request
from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Receive, Scope, Send

from bookbound.serve.keyfile import Watched
from bookbound.serve.keys import Key, Kind

HEADER = "X-API-Key"
OPEN = frozenset({"/health", "/health/ready", "/api/v1/health", "/openapi.json", "/metrics"})
"""The paths that tell nothing of the book; every other one needs a key where keys are needed."""
SCHEMES = {
    "bearer": {"type": "http", "scheme": "bearer"},
    "header": {"type": "apiKey", "in": "header", "name": HEADER},
}
"""The ways to send a key, as an OpenAPI document has them."""
WAYS: list[dict[str, list[str]]] = [{name: []} for name in SCHEMES]
CHALLENGE = "WWW-Authenticate"
REALM = 'Bearer realm="bookbound"'
FOR_PAGES = (
    "This key is bound to origins: it is for web pages there, and the request names no origin. A program needs a key "
    "that was made with --any-origin."
)
FROM_ELSEWHERE = "This key is bound to other origins than the one that the request names. Ask whoever gave it to you."
NO_ADMIN = "This needs an admin key, and this key is none. Ask whoever looks after the index."


class Refused(HTTPException):
    """A key that does not do, and why."""

    def __init__(self, why: str) -> None:
        super().__init__(403, why, {CHALLENGE: f'{REALM}, error="insufficient_scope"'})


class Access:
    """Leaves the id of the key in the request's state, as `key`, and whether that is an admin's, as `admin`.

    A key that is sent must hold, whether or not one is needed.
    """

    def __init__(self, app: ASGIApp, keys: Watched, needed: bool) -> None:
        self._app, self._keys, self._needed = app, keys, needed

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and scope["path"] not in OPEN:
            key = self._recognised(Headers(scope=scope))
            if key is None and self._needed:
                raise HTTPException(401, headers={CHALLENGE: REALM})
            if key is not None:
                scope["state"] |= {"key": key.id, "admin": key.kind is Kind.ADMIN}
        await self._app(scope, receive, send)

    def _recognised(self, headers: Headers) -> Key | None:
        secret = sent(headers)
        if secret is None:
            return None
        key = self._keys.ring.find(secret)
        if key is None:
            raise HTTPException(401, headers={CHALLENGE: f'{REALM}, error="invalid_token"'})
        if not key.allows(headers.get("origin")):
            raise Refused(FROM_ELSEWHERE if "origin" in headers else FOR_PAGES)
        return key


def sent(headers: Headers) -> str | None:
    """The key that a request came with; in a header of its own it goes before what a proxy may have added."""
    if HEADER in headers:
        return headers[HEADER].strip()
    scheme, _, secret = headers.get("authorization", "").partition(" ")
    return secret.strip() if scheme.lower() == "bearer" else None


def admin(request: Request) -> str:
    """The id of the admin key that a request came with; without one it goes no further."""
    state = request.scope["state"]
    if "key" not in state:
        raise HTTPException(401, headers={CHALLENGE: REALM})
    if not state["admin"]:
        raise Refused(NO_ADMIN)
    return str(state["key"])
