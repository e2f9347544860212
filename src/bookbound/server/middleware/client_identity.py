"""Identifies the client: checks its API key and finds its address behind trusted proxies."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Sequence
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network

from fastapi import Request
from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.types import Scope

from bookbound.contracts.http_contract import get_context
from bookbound.domain.errors import ConfigError
from bookbound.server.api_keys import ApiKey, KeyKind, ReloadingKeyRing
from bookbound.server.page import ASSET_PATHS

API_KEY_HEADER = "X-API-Key"
PUBLIC_ROUTES = frozenset(
    {"/health", "/health/ready", "/api/v1/health", "/openapi.json", "/docs", "/metrics", "/report", *ASSET_PATHS}
)
"""The routes that reveal nothing about the book; if keys are required, every other path needs one."""
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
KeyChecker = Callable[[Headers], ApiKey | None]
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


FORWARDED_HEADER = "X-Forwarded-For"
UNTRUSTED_PROXY_WARNING = (
    f"the header {FORWARDED_HEADER} of an address that is not in `trusted_proxies` was ignored; if the address is "
    "your proxy, add it to `trusted_proxies`, or all readers behind it share one rate limit"
)
IPV6_SITE_BITS = 64
"""A provider assigns these leading bits of an IPv6 address to one household."""
IPAddress = IPv4Address | IPv6Address
TrustedNetworks = tuple[IPv4Network | IPv6Network, ...]


def parse_networks(proxies: Iterable[str]) -> TrustedNetworks:
    """The networks that a setting lists, each as an address or as a network."""
    try:
        return tuple(ip_network(proxy) for proxy in proxies)
    except ValueError:
        raise ConfigError(
            "The setting `trusted_proxies` must list addresses or networks, such as 192.0.2.7 or 10.0.0.0/8."
        ) from None


class ClientAddressFinder:
    """Finds the address of a request, and warns once if an unknown proxy names another."""

    def __init__(self, trusted: TrustedNetworks) -> None:
        self._trusted, self._has_warned = trusted, False

    def __call__(self, scope: Scope, headers: Headers) -> str | None:
        peer = scope["client"][0] if scope.get("client") else None
        forwarded = headers.getlist(FORWARDED_HEADER)
        if forwarded and not self._has_warned and not _is_trusted(_parse_address(peer or ""), self._trusted):
            self._has_warned = True
            log.warning(UNTRUSTED_PROXY_WARNING)
        return find_client_address(peer, forwarded, self._trusted)


def find_client_address(peer: str | None, forwarded: Sequence[str], trusted: TrustedNetworks) -> str | None:
    """The address of the client, given that of the peer and the values of the forwarding header.

    Each proxy appends the address it saw, so they are read from the right as long as a trusted proxy vouches for them.
    """
    address = _parse_address(peer or "")
    if address is None:
        return peer
    for entry in reversed(",".join(forwarded).split(",")):
        previous = _parse_address(entry.strip())
        if previous is None or not _is_trusted(address, trusted):
            break
        address = previous
    return str(address)


def rate_limit_address(address: str | None) -> str:
    """The address that rate limits count; all of one IPv6 site count as one."""
    parsed = _parse_address(address or "")
    if isinstance(parsed, IPv6Address):
        return str(IPv6Network((int(parsed), IPV6_SITE_BITS), strict=False))
    return str(parsed or address or "")


def _is_trusted(address: IPAddress | None, trusted: TrustedNetworks) -> bool:
    return address is not None and any(address in network for network in trusted)


def _parse_address(text: str) -> IPAddress | None:
    """An address without its port; an IPv4 address that is mapped to IPv6 becomes IPv4."""
    host = text
    if text.startswith("["):
        host = text[1:].partition("]")[0]
    elif text.count(":") == 1:
        host = text.partition(":")[0]
    try:
        parsed = ip_address(host)
    except ValueError:
        return None
    return (parsed.ipv4_mapped or parsed) if isinstance(parsed, IPv6Address) else parsed
