"""A hostile site is read within the limits, and each page gets one name."""

from __future__ import annotations

import json
from typing import Any

import pytest
from tests.sources.crawl.helpers import crawl, notices_by_file, page_paths, page_with_links
from tests.sources.local_server import HTML, LocalServer, html_page, redirect_response, serve_site

from bookbound.sources.crawl.fetch_limits import CrawlLimits


def sitemap(*places: str) -> tuple[int, dict[str, str], bytes]:
    return 200, {}, f"<urlset>{''.join(f'<url><loc>{place}</loc></url>' for place in places)}</urlset>".encode()


def files(web: LocalServer, **changes: Any) -> list[str]:
    return sorted(found.file for found in crawl(web, **changes).pages)


@pytest.mark.parametrize(
    "place",
    ["http://[::1", "{url}:99999/a", "http://127.0.0.1:abc/a", "http://[bad/", "http://", "\ud7ff", "a b", "x" * 5_000],
)
def test_an_invalid_url_in_a_sitemap_is_skipped(place: str) -> None:
    with serve_site({"/": html_page("<h1>Home</h1>words"), "/b": html_page("<h1>B</h1>b")}) as web:
        place = place.format(url="http://127.0.0.1")
        web.responses["/robots.txt"] = (200, {}, f"Sitemap: {place}\nSitemap: {web.url}/own.xml".encode())
        web.responses["/own.xml"] = sitemap(place, f"{web.url}/b")
        assert page_paths(crawl(web), web) == ["/", "/b"]


def test_urls_with_credentials_are_skipped() -> None:
    with serve_site({}) as web:
        secret = web.url.replace("http://", "http://user:secret@")
        head = f"<link rel=canonical href='{secret}/'><link rel=next href='{secret}/n'><base href='{secret}/base/'>"
        web.responses |= {
            "/": html_page(f"<h1>Home</h1>words <a href='{secret}/linked'>on</a> <a href=b>b</a>", head),
            "/b": html_page("<h1>B</h1>b"),
            "/sitemap.xml": sitemap(f"{secret}/b", f"{web.url}/b"),
        }
        book = crawl(web)
        assert page_paths(book, web) == ["/", "/b"]
        assert "secret" not in repr((book, web.requested))


def test_a_path_may_contain_a_huge_number() -> None:
    long = "9" * 1_900
    with serve_site({"/": page_with_links(long, "9a", "10a")}) as web:
        web.responses |= {f"/{name}": html_page(f"<h1>{name[:3]}</h1>words") for name in (long, "9a", "10a")}
        assert [found.file for found in crawl(web).pages] == ["index", "9a", "10a", long]


@pytest.mark.parametrize(
    "others",
    [["//a"], ["/a/"], ["/a/index.html"], ["/%61"], ["/b/../a"], ["/b/%2e%2E/a"], ["/./a"], ["/a.html"], ["/a#x"]],
    ids="".join,
)
def test_two_spellings_of_a_url_are_one_page(others: list[str]) -> None:
    with serve_site({"/": html_page("<h1>Home</h1>words")}) as web:
        web.responses |= {path: html_page("<h1>A</h1>a") for path in ("/a", *others)}
        web.responses["/sitemap.xml"] = sitemap(*(web.url + path for path in ("/a", *others)))
        assert files(web) == ["a", "index"]


def test_every_page_has_a_unique_file_name() -> None:
    names = ["/a", "/a?x", "/a?y", "/a%3Fx", "/A", "/a%2Fb", "/a/b", "/a%20b", "/%C3%A4", "/index?x", "/a;x", "/a%25"]
    with serve_site({"/": html_page("<h1>Home</h1>words")}) as web:
        web.responses |= {path: html_page(f"<h1>{at}</h1>words") for at, path in enumerate(names)}
        web.responses["/sitemap.xml"] = sitemap(*(web.url + path for path in names))
        found = files(web)
        assert len(set(found)) == len(found) == len(names) + 1


def test_a_redirect_to_another_site_is_not_followed() -> None:
    with (
        serve_site({"/": html_page("elsewhere")}) as elsewhere,
        serve_site({"/": page_with_links("a", "b"), "/b": html_page("b")}) as web,
    ):
        web.responses["/a"] = redirect_response(elsewhere.url + "/")
        book = crawl(web)
        assert page_paths(book, web) == ["/", "/b"]
        assert notices_by_file(book)["a"] == ("redirects to another site; left out", False)
        assert elsewhere.requested == []


def test_parent_segments_do_not_bypass_robots_txt() -> None:
    with serve_site(
        {"/robots.txt": (200, {}, b"User-agent: *\nDisallow: /private"), "/private": html_page("p")}
    ) as web:
        web.responses["/"] = page_with_links(f"{web.url}/a/../private", f"{web.url}/a/%2e%2e/%70rivate")
        assert page_paths(crawl(web), web) == ["/"]
        assert not any("private" in path for path in web.requested)


def test_the_number_of_requested_urls_is_limited() -> None:
    with serve_site({"/": page_with_links(*(f"missing{at}" for at in range(100)))}) as web:
        book = crawl(web, limits=CrawlLimits(max_urls=20, delay_seconds=0.0))
        assert sum("missing" in path for path in web.requested) == 19
        assert [notice.message for notice in book.notices if notice.lost] == ["has more pages than a crawl may read"]


@pytest.mark.parametrize(
    "kind",
    [f"{HTML}; charset*{'1' * 5_000}=x", f"{HTML};" + '"' * 50_000, f"{HTML}; charset*0*=%ff''%ff", "text/html; \xff"],
    ids=["long number", "quotes", "parts", "latin"],
)
def test_an_odd_content_type_is_still_html(kind: str) -> None:
    with serve_site({"/": (200, {"content-type": kind}, html_page("<h1>Home</h1>words").encode())}) as web:
        assert page_paths(crawl(web), web) == ["/"]


def test_a_search_index_with_lone_surrogates_is_read() -> None:
    docs = [
        {"location": "\ud800#x", "title": "Half"},
        {"location": "", "title": "Home"},
        {"location": "#\ud800", "title": "Home"},
        {"location": "b/", "title": "\ud800"},
    ]
    with serve_site(
        {"/": html_page("<h1>Home</h1>words", "<meta name=generator content=mkdocs>"), "/b/": html_page("b")}
    ) as web:
        web.responses["/search/search_index.json"] = (200, {}, json.dumps({"docs": docs}).encode())
        book = crawl(web)
        assert page_paths(book, web) == ["/", "/b/"]
        assert (book.pages[0].blocks[0].anchor, book.pages[1].title) == ("\ufffd", "\ufffd")
