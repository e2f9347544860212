"""What a site's maps list."""

from __future__ import annotations

import gzip

from hypothesis import given
from hypothesis import strategies as st

from bookbound.sources.crawl.page_discovery import MAX_SITEMAPS, list_sitemap_pages, parse_sitemap
from bookbound.sources.crawl.robots import RobotsRules
from bookbound.sources.html.urls import resolve_url


def test_a_map_lists_pages_and_an_index_lists_maps() -> None:
    space = b"xmlns='http://www.sitemaps.org/schemas/sitemap/0.9'"
    pages = b"<urlset %b><url><loc> https://a.example/b </loc></url></urlset>" % space
    assert parse_sitemap(pages).pages == ["https://a.example/b"]
    assert parse_sitemap(gzip.compress(pages)).pages == ["https://a.example/b"]
    assert parse_sitemap(
        b"<sitemapindex><sitemap><loc>https://a.example/m.xml</loc></sitemap></sitemapindex>"
    ).maps == ["https://a.example/m.xml"]


def test_maps_that_list_each_other_end() -> None:
    asked: list[str] = []

    def fetch(url: str) -> bytes:
        asked.append(url)
        more = "".join(f"<sitemap><loc>{url}{letter}</loc></sitemap>" for letter in "ab")
        return f"<sitemapindex>{more}</sitemapindex>".encode()

    assert list_sitemap_pages(["m"], str, fetch, 10) == []
    assert len(asked) == MAX_SITEMAPS


def test_no_more_pages_are_taken_than_are_wanted() -> None:
    listed = "".join(f"<url><loc>{at}</loc></url>" for at in range(100))
    assert len(list_sitemap_pages(["m"], str, lambda url: f"<urlset>{listed}</urlset>".encode(), 7)) == 7


@given(st.binary() | st.binary().map(gzip.compress))
def test_any_bytes_are_a_map_or_none(data: bytes) -> None:
    assert parse_sitemap(data).maps == []


@given(st.text())
def test_any_text_is_a_robots_txt(text: str) -> None:
    robots = RobotsRules(text)
    assert isinstance(robots.allows("https://a.example/b"), bool)
    assert 0 <= robots.delay <= 10
    assert len(robots.maps) <= 20


def test_the_rules_for_us_come_before_those_for_all() -> None:
    robots = RobotsRules(
        "User-agent: *\nDisallow: /\nCrawl-delay: 5\n\nUser-agent: Bookbound\nAllow: /\nDisallow: /x*y$\n"
    )
    assert [robots.allows(f"https://a.example{path}") for path in ("/", "/xzy", "/xzyz")] == [True, False, True]


@given(st.text(), st.text())
def test_any_link_leads_to_an_address_of_the_web_or_nowhere(url: str, href: str) -> None:
    for base in (url, "https://a.example/b/"):
        found = resolve_url(base, href)
        assert not found or (found.startswith(("http://", "https://")) and "#" not in found)


def test_rules_for_others_are_not_kept_for_each_of_them() -> None:
    named = "".join(f"User-agent: robot{at}\n" for at in range(10_000))
    robots = RobotsRules(named + "Disallow: /x\n" * 10_000 + "\nUser-agent: robot1\nUser-agent: *\nDisallow: /y\n")
    assert len(robots._rules._user_agents) == 2
    assert [robots.allows(f"https://a.example/{path}") for path in "xy"] == [True, False]


def test_an_agent_without_a_name_is_nobody() -> None:
    assert RobotsRules("User-agent:\nDisallow: /\n").allows("https://a.example/")
    assert not RobotsRules("User-Agent : Book* # us\nDisallow: /\n").allows("https://a.example/")


def test_maps_of_others_and_maps_twice_are_not_asked_for() -> None:
    asked: list[str] = []

    def fetch(url: str) -> bytes:
        asked.append(url)
        return b"<sitemapindex><loc>a</loc><loc>b!</loc><loc>A</loc><loc>c</loc></sitemapindex>"

    list_sitemap_pages(["a", "d"], lambda url: "" if url.endswith("!") else url.lower(), fetch, 10)
    assert asked == ["a", "c", "d"]
