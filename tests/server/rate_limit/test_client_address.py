"""A client cannot forge its address."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bookbound.domain.errors import ConfigError
from bookbound.server.rate_limit import find_client_address, parse_networks, rate_limit_address

TRUSTED = parse_networks(["10.0.0.0/8", "192.0.2.7", "fd00::/8"])
READER = "203.0.113.9"


@pytest.mark.parametrize(
    ("peer", "forwarded", "address"),
    [
        (READER, [], READER),
        (READER, ["198.51.100.1"], READER),  # forged: the peer is not a proxy
        ("10.0.0.1", [READER], READER),
        ("10.0.0.1", [f"198.51.100.1, {READER}"], READER),  # forged: the reader sent the first one
        ("10.0.0.1", [f"198.51.100.1, {READER}, 192.0.2.7"], READER),
        ("10.0.0.1", ["198.51.100.1", f"{READER},10.9.9.9"], READER),  # in several headers
        ("10.0.0.1", [], "10.0.0.1"),
        ("10.0.0.1", ["10.0.0.2, 10.0.0.3"], "10.0.0.2"),
        ("10.0.0.1", ["198.51.100.1, rubbish, 10.0.0.3"], "10.0.0.3"),
        ("10.0.0.1", [f"{READER}, "], "10.0.0.1"),
        ("10.0.0.1", ["unknown"], "10.0.0.1"),
        ("10.0.0.1", [f"{READER}:4711"], READER),
        ("fd00::1", ["[2001:db8::9]:4711"], "2001:db8::9"),
        ("::ffff:10.0.0.1", [f"::ffff:{READER}"], READER),
        ("::ffff:203.0.113.9", [], READER),
        ("2001:DB8:0::9", [], "2001:db8::9"),
        ("testclient", [READER], "testclient"),
        (None, [READER], None),
    ],
)
def test_the_address_is_the_one_that_the_first_trusted_proxy_saw(
    peer: str | None, forwarded: list[str], address: str | None
) -> None:
    assert find_client_address(peer, forwarded, TRUSTED) == address


@given(st.lists(st.text()), st.ip_addresses().filter(lambda ip: not any(ip in network for network in TRUSTED)))
def test_the_header_of_an_untrusted_peer_changes_nothing(forwarded: list[str], peer: object) -> None:
    assert find_client_address(str(peer), forwarded, TRUSTED) == find_client_address(str(peer), [], TRUSTED)


@given(st.lists(st.text(alphabet="0123456789.:[], x")), st.text(alphabet="0123456789.:[] x"))
def test_only_what_the_proxy_appended_counts(sent: list[str], junk: str) -> None:
    assert find_client_address("10.0.0.1", [*sent, f"{junk},{READER}"], TRUSTED) == READER


@pytest.mark.parametrize(
    ("address", "key"),
    [
        (READER, READER),
        ("::ffff:203.0.113.9", READER),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
        ("fe80::1%eth0", "fe80::/64"),
        ("testclient", "testclient"),
        (None, ""),
    ],
)
def test_all_addresses_of_an_ipv6_site_count_as_one(address: str | None, key: str) -> None:
    assert rate_limit_address(address) == key


@pytest.mark.parametrize("proxy", ["nginx", "10.0.0.1/8", "10.0.0.0/33", "*"])
def test_an_invalid_network_is_an_error(proxy: str) -> None:
    with pytest.raises(ConfigError, match="proxies"):
        parse_networks(["10.0.0.0/8", proxy])
