"""Resolves hosts and refuses private addresses, except for hosts that a setting allows."""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import Callable, Sequence

from bookbound.domain.errors import SourceError

IPAddress = ipaddress.IPv4Address | ipaddress.IPv6Address
ResolveHost = Callable[[str, int], Sequence[str]]
"""The addresses of a host by its name and port, as text."""
_GLOBAL_UNICAST = ipaddress.ip_network("2000::/3")
_NAT64 = ipaddress.ip_network("64:ff9b::/96")
# What Python does not count as private, and yet leads to the machines of a provider.
_BLOCKED_NETWORKS = tuple(
    map(ipaddress.ip_network, ("192.0.0.0/24", "168.63.129.16/32", "192.88.99.0/24", "2001::/23"))
)


class PrivateAddressError(SourceError):
    """A host stands at an address that is not of the open network."""


def is_public(address: IPAddress) -> bool:
    """Whether an address belongs to the open network; one that wraps another is as open as that."""
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
    """The addresses that this machine finds for a host."""
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return [str(sockaddr[0]) for *_, sockaddr in found]


def resolve_public_addresses(
    host: str, port: int, allowed: Sequence[str], resolve: ResolveHost = resolve_host
) -> list[str]:
    """Where a host stands, IPv4 first; `Forbidden` if any of it is closed and the host is not `allowed` by name."""
    try:
        texts = [host] if _is_ip_address(host) else list(dict.fromkeys(resolve(host, port)))
    except (OSError, UnicodeError):
        texts = []
    found = [address for text in texts if (address := _parse_ip_address(text)) is not None]
    if not found:
        raise SourceError("The site's name cannot be resolved: check the address, and whether there is a network.")
    named = {host.lower(), f"{host.lower()}:{port}"} & {name.lower() for name in allowed}
    if not named and not all(map(is_public, found)):
        raise PrivateAddressError(
            "The site stands at an address that is private or reserved. If it is yours, name its host in the setting"
            " `crawl_hosts`."
        )
    return [str(address) for address in sorted(found, key=lambda address: address.version)]


def _is_ip_address(host: str) -> bool:
    return _parse_ip_address(host) is not None


def _parse_ip_address(text: str) -> IPAddress | None:
    try:
        return ipaddress.ip_address(text.strip("[]").partition("%")[0])
    except ValueError:
        return None
