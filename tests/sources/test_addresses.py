"""Which machines a crawl may ask."""

from __future__ import annotations

import ipaddress

import pytest

from bookbound.domain.errors import SourceError
from bookbound.sources.crawl.ssrf_guard import PrivateAddressError, is_public, resolve_public_addresses

CLOSED = """
0.0.0.0 10.0.0.1 100.64.0.1 100.100.100.200 127.0.0.1 127.8.8.8 168.63.129.16 169.254.169.254 172.16.0.1 172.31.255.255
192.0.0.192 192.0.2.1 192.168.1.1 198.18.0.1 198.51.100.7 203.0.113.9 224.0.0.1 240.0.0.1 255.255.255.255
:: ::1 ::ffff:127.0.0.1 ::ffff:10.0.0.1 ::ffff:169.254.169.254 ::127.0.0.1 64:ff9b::7f00:1 64:ff9b::a9fe:a9fe
64:ff9b:1::7f00:1 2002:7f00:1:: 2002:c0a8:101:: 2001:0:4136:e378:8000:63bf:3fff:fdd2 2001:db8::1 100::1
fc00::1 fd00:ec2::254 fe80::1 fec0::1 ff02::1
""".split()
OPEN = "8.8.8.8 93.184.216.34 1.1.1.1 2606:4700:4700::1111 2a00:1450:4001::64 64:ff9b::808:808 ::ffff:8.8.8.8".split()


@pytest.mark.parametrize("text", CLOSED)
def test_an_address_that_is_not_of_the_open_network_is_refused_however_a_name_leads_there(text: str) -> None:
    assert not is_public(ipaddress.ip_address(text))
    with pytest.raises(PrivateAddressError, match="crawl_hosts"):
        resolve_public_addresses("book.example", 443, (), lambda host, port: [text])


@pytest.mark.parametrize("text", OPEN)
def test_an_address_of_the_open_network_is_asked(text: str) -> None:
    [found] = resolve_public_addresses("book.example", 443, (), lambda host, port: [text])
    assert ipaddress.ip_address(found) == ipaddress.ip_address(text)


@pytest.mark.parametrize("host", ["127.0.0.1", "::1", "169.254.169.254"])
def test_an_address_in_the_place_of_a_name_is_checked_the_same(host: str) -> None:
    with pytest.raises(PrivateAddressError):
        resolve_public_addresses(host, 80, (), lambda host, port: ["8.8.8.8"])


@pytest.mark.parametrize("host", ["localhost", "2130706433", "0x7f.1", "127.1"])
def test_a_name_or_a_number_that_this_machine_takes_for_itself_is_refused(host: str) -> None:
    with pytest.raises(SourceError):
        resolve_public_addresses(host, 80, ())


def test_one_closed_address_among_several_is_enough() -> None:
    with pytest.raises(PrivateAddressError):
        resolve_public_addresses("book.example", 80, (), lambda host, port: ["8.8.8.8", "10.0.0.1"])


@pytest.mark.parametrize("named", ["wiki.example", "WIKI.example:8080"])
def test_a_host_that_a_setting_names_may_stand_anywhere(named: str) -> None:
    assert resolve_public_addresses("wiki.example", 8080, (named,), lambda host, port: ["::1", "10.0.0.1"]) == [
        "10.0.0.1",
        "::1",
    ]
    for other in ("evil.example", "a.wiki.example"):
        with pytest.raises(PrivateAddressError):
            resolve_public_addresses(other, 8080, (named,), lambda host, port: ["10.0.0.1"])


def test_a_name_that_leads_nowhere_says_so() -> None:
    with pytest.raises(SourceError, match="resolved"):
        resolve_public_addresses("nowhere.invalid", 80, (), lambda host, port: [])
