"""Where a request comes from: the peer, or, behind proxies that are trusted, whom the first of them saw."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network

from bookbound.errors import BadSetup

FORWARDED = "X-Forwarded-For"
SITE = 64
"""The leading bits of an IPv6 address that a provider gives to one household: the rest is its own to choose."""
Address = IPv4Address | IPv6Address
Networks = tuple[IPv4Network | IPv6Network, ...]


def networks(proxies: Iterable[str]) -> Networks:
    """The networks that a setting lists, each as an address or as a network."""
    try:
        return tuple(ip_network(proxy) for proxy in proxies)
    except ValueError:
        raise BadSetup(
            "The setting `proxies` must list addresses or networks, such as 192.0.2.7 or 10.0.0.0/8."
        ) from None


def seen(peer: str | None, forwarded: Sequence[str], trusted: Networks) -> str | None:
    """The address of whoever asks, given the peer's and what the header fields of its request say.

    Each proxy appends whom it saw, so they are read from the right, as long as a trusted one vouches for the next.
    """
    found = _address(peer or "")
    if found is None:
        return peer
    for entry in reversed(",".join(forwarded).split(",")):
        if not _trusts(found, trusted):
            break
        before = _address(entry.strip())
        if before is None:
            break
        found = before
    return str(found)


def believed(peer: str | None, trusted: Networks) -> bool:
    """Whether a peer is one of the proxies that are trusted."""
    found = _address(peer or "")
    return found is not None and _trusts(found, trusted)


def counted(address: str | None) -> str:
    """An address as limits count it: one of IPv6 as its site."""
    found = _address(address or "")
    if isinstance(found, IPv6Address):
        return str(IPv6Network((int(found), SITE), strict=False))
    return str(found or address or "")


def _trusts(found: Address, trusted: Networks) -> bool:
    return any(found in network for network in trusted)


def _address(text: str) -> Address | None:
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
