"""A crawl finds pages in sitemaps within limits."""

from __future__ import annotations

import gzip

from hypothesis import given
from hypothesis import strategies as st

from bookbound.sources.crawl.page_discovery import MAX_SITEMAPS, list_sitemap_pages, parse_sitemap


def test_a_sitemap_lists_pages_and_an_index_lists_sitemaps() -> None:
    space = b"xmlns='http://www.sitemaps.org/schemas/sitemap/0.9'"
    pages = b"<urlset %b><url><loc> https://a.example/b </loc></url></urlset>" % space
    assert parse_sitemap(pages).pages == ["https://a.example/b"]
    assert parse_sitemap(gzip.compress(pages)).pages == ["https://a.example/b"]
    assert parse_sitemap(
        b"<sitemapindex><sitemap><loc>https://a.example/m.xml</loc></sitemap></sitemapindex>"
    ).sitemaps == ["https://a.example/m.xml"]


def test_the_number_of_nested_sitemaps_is_limited() -> None:
    asked: list[str] = []

    def fetch(url: str) -> bytes:
        asked.append(url)
        more = "".join(f"<sitemap><loc>{url}{letter}</loc></sitemap>" for letter in "ab")
        return f"<sitemapindex>{more}</sitemapindex>".encode()

    assert list_sitemap_pages(["m"], str, fetch, 10) == []
    assert len(asked) == MAX_SITEMAPS


def test_the_number_of_sitemap_pages_is_limited() -> None:
    listed = "".join(f"<url><loc>{at}</loc></url>" for at in range(100))
    assert len(list_sitemap_pages(["m"], str, lambda url: f"<urlset>{listed}</urlset>".encode(), 7)) == 7


@given(st.binary() | st.binary().map(gzip.compress))
def test_any_bytes_can_be_parsed_as_a_sitemap(data: bytes) -> None:
    assert parse_sitemap(data).sitemaps == []


def test_each_sitemap_of_the_site_is_fetched_once() -> None:
    asked: list[str] = []

    def fetch(url: str) -> bytes:
        asked.append(url)
        return b"<sitemapindex><loc>a</loc><loc>b!</loc><loc>A</loc><loc>c</loc></sitemapindex>"

    list_sitemap_pages(["a", "d"], lambda url: "" if url.endswith("!") else url.lower(), fetch, 10)
    assert asked == ["a", "c", "d"]
