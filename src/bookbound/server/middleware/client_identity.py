"""Identifies the client: checks its API key and finds its address behind trusted proxies."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network

from fastapi import Request
from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Receive, Scope, Send

from bookbound.domain.errors import ConfigError
from bookbound.server.api_keys import ApiKey, KeyKind, ReloadingKeyRing

API_KEY_HEADER = "X-API-Key"
PUBLIC_PATHS = frozenset({"/health", "/health/ready", "/api/v1/health", "/openapi.json", "/metrics"})
"""The paths that tell nothing of the book; every other one needs a key where keys are needed."""
SECURITY_SCHEMES = {
    "bearer": {"type": "http", "scheme": "bearer"},
    "header": {"type": "apiKey", "in": "header", "name": API_KEY_HEADER},
}
"""The ways to send a key, as an OpenAPI document has them."""
SECURITY_REQUIREMENTS: list[dict[str, list[str]]] = [{name: []} for name in SECURITY_SCHEMES]
CHALLENGE_HEADER = "WWW-Authenticate"
BEARER_CHALLENGE = 'Bearer realm="bookbound"'
ORIGIN_REQUIRED = (
    "This key is bound to origins: it is for web pages there, and the request names no origin. A program needs a key "
    "that was made with --any-origin."
)
ORIGIN_NOT_ALLOWED = (
    "This key is bound to other origins than the one that the request names. Ask whoever gave it to you."
)
ADMIN_KEY_REQUIRED = "This needs an admin key, and this key is none. Ask whoever looks after the index."


class KeyNotAllowedError(HTTPException):
    """A key that does not do, and why."""

    def __init__(self, why: str) -> None:
        super().__init__(403, why, {CHALLENGE_HEADER: f'{BEARER_CHALLENGE}, error="insufficient_scope"'})


class ApiKeyMiddleware:
    """Leaves the id of the key in the request's state, as `key`, and whether that is an admin's, as `admin`.

    A key that is sent must hold, whether or not one is needed.
    """

    def __init__(self, app: ASGIApp, keys: ReloadingKeyRing, needed: bool) -> None:
        self._app, self._keys, self._needed = app, keys, needed

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and scope["path"] not in PUBLIC_PATHS:
            key = self._recognised(Headers(scope=scope))
            if key is None and self._needed:
                raise HTTPException(401, headers={CHALLENGE_HEADER: BEARER_CHALLENGE})
            if key is not None:
                scope["state"] |= {"key": key.id, "admin": key.kind is KeyKind.ADMIN}
        await self._app(scope, receive, send)

    def _recognised(self, headers: Headers) -> ApiKey | None:
        secret = read_api_key(headers)
        if secret is None:
            return None
        key = self._keys.ring.find(secret)
        if key is None:
            raise HTTPException(401, headers={CHALLENGE_HEADER: f'{BEARER_CHALLENGE}, error="invalid_token"'})
        if not key.allows(headers.get("origin")):
            raise KeyNotAllowedError(ORIGIN_NOT_ALLOWED if "origin" in headers else ORIGIN_REQUIRED)
        return key


def read_api_key(headers: Headers) -> str | None:
    """The key that a request came with; in a header of its own it goes before what a proxy may have added."""
    if API_KEY_HEADER in headers:
        return headers[API_KEY_HEADER].strip()
    scheme, _, secret = headers.get("authorization", "").partition(" ")
    return secret.strip() if scheme.lower() == "bearer" else None


def require_admin(request: Request) -> str:
    """The id of the admin key that a request came with; without one it goes no further."""
    state = request.scope["state"]
    if "key" not in state:
        raise HTTPException(401, headers={CHALLENGE_HEADER: BEARER_CHALLENGE})
    if not state["admin"]:
        raise KeyNotAllowedError(ADMIN_KEY_REQUIRED)
    return str(state["key"])


FORWARDED_HEADER = "X-Forwarded-For"
IPV6_SITE_BITS = 64
"""The leading bits of an IPv6 address that a provider gives to one household: the rest is its own to choose."""
IPAddress = IPv4Address | IPv6Address
TrustedNetworks = tuple[IPv4Network | IPv6Network, ...]


def parse_networks(proxies: Iterable[str]) -> TrustedNetworks:
    """The networks that a setting lists, each as an address or as a network."""
    try:
        return tuple(ip_network(proxy) for proxy in proxies)
    except ValueError:
        raise ConfigError(
            "The setting `proxies` must list addresses or networks, such as 192.0.2.7 or 10.0.0.0/8."
        ) from None


def find_client_address(peer: str | None, forwarded: Sequence[str], trusted: TrustedNetworks) -> str | None:
    """The address of whoever asks, given the peer's and what the header fields of its request say.

    Each proxy appends whom it saw, so they are read from the right, as long as a trusted one vouches for the next.
    """
    found = _parse_address(peer or "")
    if found is None:
        return peer
    for entry in reversed(",".join(forwarded).split(",")):
        if not _is_in_networks(found, trusted):
            break
        before = _parse_address(entry.strip())
        if before is None:
            break
        found = before
    return str(found)


def is_trusted_proxy(peer: str | None, trusted: TrustedNetworks) -> bool:
    """Whether a peer is one of the proxies that are trusted."""
    found = _parse_address(peer or "")
    return found is not None and _is_in_networks(found, trusted)


def rate_limit_address(address: str | None) -> str:
    """An address as limits count it: one of IPv6 as its site."""
    found = _parse_address(address or "")
    if isinstance(found, IPv6Address):
        return str(IPv6Network((int(found), IPV6_SITE_BITS), strict=False))
    return str(found or address or "")


def _is_in_networks(found: IPAddress, trusted: TrustedNetworks) -> bool:
    return any(found in network for network in trusted)


def _parse_address(text: str) -> IPAddress | None:
    """An address, with or without a port; one of IPv4 in the guise of IPv6 is one of IPv4."""
    host = text
    if text.startswith("["):
        host = text[1:].partition("]")[0]
    elif text.count(":") == 1:
        host = text.partition(":")[0]
    try:
        found = ip_address(host)
    except ValueError:
        return None
    return (found.ipv4_mapped or found) if isinstance(found, IPv6Address) else found
