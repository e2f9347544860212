"""Decides which hosts and URLs a crawl may request: no private addresses, and only what robots.txt allows."""

from __future__ import annotations

import ipaddress
import re
import socket
import threading
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from bookbound.domain.errors import SourceError
from bookbound.sources.crawl.fetch_limits import USER_AGENT, FetchError, TemporaryFetchError
from bookbound.sources.decoding import decode_html
from bookbound.sources.html.urls import get_origin

if TYPE_CHECKING:
    from bookbound.sources.crawl.fetcher import Fetcher

IPAddress = ipaddress.IPv4Address | ipaddress.IPv6Address
ResolveHost = Callable[[str, int], Sequence[str]]
"""Returns the addresses of a host and port as text."""
# The only part of IPv6 that is given to the public internet, and the prefix of IPv4 addresses behind a translator.
_GLOBAL_UNICAST = ipaddress.ip_network("2000::/3")
_NAT64 = ipaddress.ip_network("64:ff9b::/96")
# Python counts these as public, but they lead to the machines of a provider.
_PROVIDER_NETWORKS = ("192.0.0.0/24", "168.63.129.16/32", "192.88.99.0/24", "2001::/23")
_BLOCKED_NETWORKS = tuple(map(ipaddress.ip_network, _PROVIDER_NETWORKS))
MAX_CRAWL_DELAY_SECONDS = 10.0
MAX_ROBOTS_LENGTH = 500_000
_MAX_ROBOTS_SITEMAPS = 20
_USER_AGENT_LINE = re.compile(r"(?i)(\s*user[- ]?agent\b\s*:?)([^#]*)")


class PrivateAddressError(SourceError):
    """A host has a private or reserved address."""


def is_public(address: IPAddress) -> bool:
    """Whether an address is on the public internet; an address that wraps another counts as that one."""
    if any(address in network for network in _BLOCKED_NETWORKS if network.version == address.version):
        return False
    if isinstance(address, ipaddress.IPv6Address):
        inner = address.ipv4_mapped or address.sixtofour
        if address in _NAT64:
            inner = ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
        if inner is not None:
            return is_public(inner)
        if address not in _GLOBAL_UNICAST:
            return False
    return address.is_global and not (address.is_multicast or address.is_reserved or address.is_unspecified)


def resolve_host(host: str, port: int) -> Sequence[str]:
    """Resolve a host with the resolver of this machine."""
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return [str(sockaddr[0]) for *_, sockaddr in found]


def resolve_public_addresses(
    host: str, port: int, allowed_hosts: Sequence[str], resolve: ResolveHost = resolve_host
) -> list[str]:
    """Resolve a host, IPv4 first, or raise if any of its addresses is private and the host is not allowed by name."""
    try:
        texts = [host] if _parse_ip_address(host) else list(dict.fromkeys(resolve(host, port)))
    except (OSError, UnicodeError):
        texts = []
    found = [address for text in texts if (address := _parse_ip_address(text))]
    if not found:
        raise SourceError("The site's host name cannot be resolved: check the URL and your network connection.")
    is_allowed = {host.lower(), f"{host.lower()}:{port}"} & {name.lower() for name in allowed_hosts}
    if not is_allowed and not all(map(is_public, found)):
        raise PrivateAddressError(
            "The site has a private or reserved address. If it is yours, add its host to the setting"
            " `crawl_allowed_hosts`."
        )
    # Many networks have no route for IPv6, so it comes last.
    return [str(address) for address in sorted(found, key=lambda address: address.version)]


def _parse_ip_address(text: str) -> IPAddress | None:
    try:
        return ipaddress.ip_address(text.strip("[]").partition("%")[0])
    except ValueError:
        return None


class RobotsRules:
    """The rules of one site; an empty file allows everything."""

    def __init__(self, text: str = "") -> None:
        from protego import Protego

        lines = text[:MAX_ROBOTS_LENGTH].replace("\0", "").splitlines()
        self._rules = Protego.parse("\n".join(map(_normalize_user_agent, lines)))

    def is_allowed(self, url: str) -> bool:
        return bool(self._rules.can_fetch(url, USER_AGENT))

    @property
    def delay_seconds(self) -> float:
        return min(max(self._rules.crawl_delay(USER_AGENT) or 0.0, 0.0), MAX_CRAWL_DELAY_SECONDS)

    @property
    def sitemaps(self) -> Sequence[str]:
        return list(dict.fromkeys(self._rules.sitemaps))[:_MAX_ROBOTS_SITEMAPS]


def _normalize_user_agent(line: str) -> str:
    """Give all other crawlers one name, because the parser keeps separate rules for each name."""
    match = _USER_AGENT_LINE.match(line)
    if not match or not match[2].strip():
        return line
    name = match[2].strip().lower().replace("*", "")
    return f"{match[1]} {(name or '*') if USER_AGENT.startswith(name) else 'another'}"


class RobotsCache:
    """The rules of each host, fetched once; they also set the fetcher's delay."""

    def __init__(self, fetcher: Fetcher) -> None:
        self._fetcher = fetcher
        self._rules: dict[str, RobotsRules] = {}
        self._lock = threading.Lock()

    def is_allowed(self, url: str) -> bool:
        return self.rules_for(url).is_allowed(url)

    def rules_for(self, url: str) -> RobotsRules:
        """Return the rules of a URL's host; raise if they cannot be known now."""
        origin = get_origin(url)
        with self._lock:
            if origin not in self._rules:
                self._rules[origin] = self._fetch_rules(origin)
                self._fetcher.delay_seconds = max(self._fetcher.delay_seconds, self._rules[origin].delay_seconds)
            return self._rules[origin]

    def _fetch_rules(self, origin: str) -> RobotsRules:
        try:
            result = self._fetcher.fetch(f"{origin}/robots.txt")
        except TemporaryFetchError:
            raise
        except FetchError:
            return RobotsRules()
        return RobotsRules(decode_html(result.body, result.charset))
