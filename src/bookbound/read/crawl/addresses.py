"""Which machines a crawl may ask: those of the open network, and the hosts that a setting names."""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import Callable, Sequence

from bookbound.errors import BadSource

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Resolve = Callable[[str, int], Sequence[str]]
"""The addresses of a host by its name and port, as text."""

_OPEN = ipaddress.ip_network("2000::/3")
_TRANSLATED = ipaddress.ip_network("64:ff9b::/96")
# What Python does not count as private, and yet leads to the machines of a provider.
_CLOSED = tuple(map(ipaddress.ip_network, ("192.0.0.0/24", "168.63.129.16/32", "192.88.99.0/24", "2001::/23")))


class Forbidden(BadSource):
    """A host stands at an address that is not of the open network."""


def is_open(address: Address) -> bool:
    """Whether an address belongs to the open network; one that wraps another is as open as that."""
    if any(address in network for network in _CLOSED if network.version == address.version):
        return False
    if isinstance(address, ipaddress.IPv6Address):
        inner = address.ipv4_mapped or address.sixtofour
        if address in _TRANSLATED:
            inner = ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
        if inner is not None:
            return is_open(inner)
        if address not in _OPEN:
            return False
    return address.is_global and not (address.is_multicast or address.is_reserved or address.is_unspecified)


def looked_up(host: str, port: int) -> Sequence[str]:
    """The addresses that this machine finds for a host."""
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return [str(sockaddr[0]) for *_, sockaddr in found]


def addresses(host: str, port: int, allowed: Sequence[str], resolve: Resolve = looked_up) -> list[str]:
    """Where a host stands, IPv4 first; `Forbidden` if any of it is closed and the host is not `allowed` by name."""
    try:
        texts = [host] if _is_address(host) else list(dict.fromkeys(resolve(host, port)))
    except (OSError, UnicodeError):
        texts = []
    found = [address for text in texts if (address := _address(text)) is not None]
    if not found:
        raise BadSource("The site's name cannot be resolved: check the address, and whether there is a network.")
    named = {host.lower(), f"{host.lower()}:{port}"} & {name.lower() for name in allowed}
    if not named and not all(map(is_open, found)):
        raise Forbidden(
            "The site stands at an address that is private or reserved. If it is yours, name its host in the setting"
            " `crawl_hosts`."
        )
    return [str(address) for address in sorted(found, key=lambda address: address.version)]


def _is_address(host: str) -> bool:
    return _address(host) is not None


def _address(text: str) -> Address | None:
    try:
        return ipaddress.ip_address(text.strip("[]").partition("%")[0])
    except ValueError:
        return None
