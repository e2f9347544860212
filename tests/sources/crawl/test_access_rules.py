"""A crawl requests public addresses and what robots.txt allows."""

from __future__ import annotations

import ipaddress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bookbound.domain.errors import SourceError
from bookbound.sources.crawl.access_rules import PrivateAddressError, RobotsRules, is_public, resolve_public_addresses

CLOSED = """
0.0.0.0 10.0.0.1 100.64.0.1 100.100.100.200 127.0.0.1 127.8.8.8 168.63.129.16 169.254.169.254 172.16.0.1 172.31.255.255
192.0.0.192 192.0.2.1 192.168.1.1 198.18.0.1 198.51.100.7 203.0.113.9 224.0.0.1 240.0.0.1 255.255.255.255
:: ::1 ::ffff:127.0.0.1 ::ffff:10.0.0.1 ::ffff:169.254.169.254 ::127.0.0.1 64:ff9b::7f00:1 64:ff9b::a9fe:a9fe
64:ff9b:1::7f00:1 2002:7f00:1:: 2002:c0a8:101:: 2001:0:4136:e378:8000:63bf:3fff:fdd2 2001:db8::1 100::1
fc00::1 fd00:ec2::254 fe80::1 fec0::1 ff02::1
""".split()
OPEN = "8.8.8.8 93.184.216.34 1.1.1.1 2606:4700:4700::1111 2a00:1450:4001::64 64:ff9b::808:808 ::ffff:8.8.8.8".split()


@pytest.mark.parametrize("text", CLOSED)
def test_a_private_address_is_refused(text: str) -> None:
    assert not is_public(ipaddress.ip_address(text))
    with pytest.raises(PrivateAddressError, match="crawl_allowed_hosts"):
        resolve_public_addresses("book.example", 443, (), lambda host, port: [text])


@pytest.mark.parametrize("text", OPEN)
def test_a_public_address_is_allowed(text: str) -> None:
    [found] = resolve_public_addresses("book.example", 443, (), lambda host, port: [text])
    assert ipaddress.ip_address(found) == ipaddress.ip_address(text)


@pytest.mark.parametrize("host", ["127.0.0.1", "::1", "169.254.169.254"])
def test_a_host_that_is_an_address_is_checked_too(host: str) -> None:
    with pytest.raises(PrivateAddressError):
        resolve_public_addresses(host, 80, (), lambda host, port: ["8.8.8.8"])


@pytest.mark.parametrize("host", ["localhost", "2130706433", "0x7f.1", "127.1"])
def test_every_spelling_of_this_machine_is_refused(host: str) -> None:
    with pytest.raises(SourceError):
        resolve_public_addresses(host, 80, ())


def test_one_private_address_among_several_is_refused() -> None:
    with pytest.raises(PrivateAddressError):
        resolve_public_addresses("book.example", 80, (), lambda host, port: ["8.8.8.8", "10.0.0.1"])


@pytest.mark.parametrize("named", ["wiki.example", "WIKI.example:8080"])
def test_an_allowed_host_may_have_a_private_address(named: str) -> None:
    assert resolve_public_addresses("wiki.example", 8080, (named,), lambda host, port: ["::1", "10.0.0.1"]) == [
        "10.0.0.1",
        "::1",
    ]
    for other in ("evil.example", "a.wiki.example"):
        with pytest.raises(PrivateAddressError):
            resolve_public_addresses(other, 8080, (named,), lambda host, port: ["10.0.0.1"])


def test_an_unknown_host_is_an_error() -> None:
    with pytest.raises(SourceError, match="resolved"):
        resolve_public_addresses("nowhere.invalid", 80, (), lambda host, port: [])


@given(st.text())
def test_any_text_can_be_parsed_as_robots_txt(text: str) -> None:
    robots = RobotsRules(text)
    assert isinstance(robots.is_allowed("https://a.example/b"), bool)
    assert 0 <= robots.delay_seconds <= 10
    assert len(robots.sitemaps) <= 20


def test_rules_for_our_user_agent_override_general_ones() -> None:
    robots = RobotsRules(
        "User-agent: *\nDisallow: /\nCrawl-delay: 5\n\nUser-agent: Bookbound\nAllow: /\nDisallow: /x*y$\n"
    )
    assert [robots.is_allowed(f"https://a.example{path}") for path in ("/", "/xzy", "/xzyz")] == [True, False, True]


def test_rules_for_other_crawlers_are_kept_only_once() -> None:
    named = "".join(f"User-agent: robot{at}\n" for at in range(10_000))
    robots = RobotsRules(named + "Disallow: /x\n" * 10_000 + "\nUser-agent: robot1\nUser-agent: *\nDisallow: /y\n")
    assert len(robots._rules._user_agents) == 2
    assert [robots.is_allowed(f"https://a.example/{path}") for path in "xy"] == [True, False]


def test_a_rule_without_a_user_agent_is_ignored() -> None:
    assert RobotsRules("User-agent:\nDisallow: /\n").is_allowed("https://a.example/")
    assert not RobotsRules("User-Agent : Book* # us\nDisallow: /\n").is_allowed("https://a.example/")
