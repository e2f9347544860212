"""A crawl reads the pages that a site's sitemap, links and robots.txt allow."""

from __future__ import annotations

import gzip
from typing import Any

import pytest
from tests.sources.crawl.helpers import SITES, crawl, notices_by_file, page_paths, page_with_links
from tests.sources.local_server import HTML, folder_responses, gzip_response, html_page, redirect_response, serve_site

from bookbound.domain.errors import SourceError
from bookbound.sources.crawl import crawl_site
from bookbound.sources.crawl.access_rules import PrivateAddressError
from bookbound.sources.crawl.fetch_limits import CrawlLimits
from bookbound.sources.html.built_site import read_html


def test_links_are_followed_below_the_start_url_on_the_same_origin_only() -> None:
    pages = {
        "/book/": page_with_links(
            "a", "b/c?utm=1#x", "../other", "//elsewhere.example/book/x", "mailto:x", "data.zip", "/bookish"
        ),
        "/book/a": page_with_links("./", "b/c", "A"),
        "/book/b/c": html_page("<h1>C</h1>c"),
        "/book/A": html_page("<h1>Large</h1>a"),
        "/other": html_page("other"),
        "/bookish": html_page("bookish"),
    }
    with serve_site(pages) as web:
        book = crawl(web, "/book/")
        assert page_paths(book, web) == ["/book/", "/book/A", "/book/a", "/book/b/c"]
        assert {path for path in web.requested if not path.endswith((".txt", ".xml"))} == {
            "/book/",
            "/book/a",
            "/book/A",
            "/book/b/c",
        }
    assert (book.kind, book.title, book.pages[3].title, book.notices) == ("html", "Start", "C", ())


def test_only_pages_of_the_sitemap_are_read() -> None:
    listed = "".join(f"<url><loc>{{0}}/docs/{name}</loc></url>" for name in ("b", "a?page=2", "a"))
    with serve_site({}) as web:
        web.responses |= {
            "/robots.txt": (200, {}, f"User-agent: *\nSitemap: {web.url}/maps.xml\n".encode()),
            "/maps.xml": (
                200,
                {},
                f"<sitemapindex xmlns='http://www.sitemaps.org/schemas/sitemap/0.9'><sitemap><loc>{web.url}/one.xml.gz</loc>"
                f"</sitemap><sitemap><loc>http://169.254.169.254/x</loc></sitemap></sitemapindex>".encode(),
            ),
            "/one.xml.gz": (
                200,
                {"content-type": "application/gzip"},
                gzip.compress(
                    f"<urlset>{listed.format(web.url)}<url><loc>{web.url}/blog/x</loc></url></urlset>".encode()
                ),
            ),
            "/docs/": page_with_links("unlisted"),
            **{f"/docs/{name}": html_page(f"<h1>{name}</h1>words") for name in ("a", "b", "a?page=2", "unlisted")},
        }
        book = crawl(web, "/docs/")
        assert sorted(page_paths(book, web)) == ["/docs/", "/docs/a", "/docs/a?page=2", "/docs/b"]
        assert len({found.file for found in book.pages}) == 4
        assert "/docs/unlisted" not in web.requested


@pytest.mark.parametrize(
    "broken",
    [
        b"<urlset",
        b"\x1f\x8bbroken",
        gzip.compress(b"<x>" * 30_000_000, 1),
        b'<!DOCTYPE x [<!ENTITY a "b">]><urlset>&a;</urlset>',
    ],
)
def test_a_broken_sitemap_is_ignored(broken: bytes) -> None:
    with serve_site(
        {"/": page_with_links("a"), "/a": html_page("<h1>A</h1>a"), "/sitemap.xml": (200, {}, broken)}
    ) as web:
        assert page_paths(crawl(web), web) == ["/", "/a"]


def test_urls_that_robots_txt_disallows_are_not_requested_even_after_a_redirect() -> None:
    rules = b"User-agent: bookbound\nDisallow: /private\n\nUser-agent: *\nDisallow: /"
    pages = {
        "/robots.txt": (200, {}, rules),
        "/": page_with_links("private/a", "b", "c"),
        "/b": redirect_response("/private/b"),
        "/c": html_page("<h1>C</h1>c"),
    }
    with serve_site(pages) as web:
        book = crawl(web)
        assert page_paths(book, web) == ["/", "/c"]
        assert not any(path.startswith("/private") for path in web.requested)
        assert notices_by_file(book)["b"] == ("is disallowed by robots.txt; left out", False)


def test_a_disallowed_first_page_raises_an_error_with_advice() -> None:
    with (
        serve_site({"/robots.txt": (200, {}, b"User-agent: *\nDisallow: /"), "/": "x"}) as web,
        pytest.raises(SourceError, match=r"disallowed by robots\.txt.*index the folder"),
    ):
        crawl(web)


def test_nothing_is_requested_while_robots_txt_is_unavailable() -> None:
    with serve_site({"/robots.txt": (503, {}, b""), "/": html_page("x")}) as web:
        with pytest.raises(SourceError, match=r"answers 503\. Try again later"):
            crawl(web)
        assert set(web.requested) == {"/robots.txt"}


def test_the_crawl_delay_of_robots_txt_is_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    slept: list[float] = []
    monkeypatch.setattr("bookbound.sources.crawl.fetcher.sleep", slept.append)
    with serve_site(
        {
            "/robots.txt": (200, {}, b"User-agent: *\nCrawl-delay: 86400"),
            "/": page_with_links("a"),
            "/a": html_page("a"),
        }
    ) as web:
        assert page_paths(crawl(web), web) == ["/", "/a"]
    assert 9 < max(slept) < 60


def test_noindex_and_nofollow_are_obeyed() -> None:
    pages = {
        "/": page_with_links("hidden", "header", "quiet"),
        "/hidden": html_page("<h1>Hidden</h1>words <a href=from-hidden>on</a>", "<meta name=robots content='NOINDEX'>"),
        "/header": (200, {"content-type": HTML, "x-robots-tag": "noindex"}, html_page("<h1>H</h1>words").encode()),
        "/quiet": html_page("<h1>Q</h1>words <a href=from-quiet>on</a>", "<meta name=robots content='nofollow'>"),
        "/from-hidden": html_page("<h1>Found</h1>words"),
        "/from-quiet": html_page("<h1>Not found</h1>words"),
    }
    with serve_site(pages) as web:
        book = crawl(web)
        assert page_paths(book, web) == ["/", "/from-hidden", "/quiet"]
    assert (
        notices_by_file(book)["hidden"]
        == notices_by_file(book)["header"]
        == ("asks not to be indexed; left out", False)
    )


def test_broken_pages_do_not_stop_the_crawl() -> None:
    pages = {
        "/": page_with_links(*"abcdefghi"),
        "/a": html_page("<h1>A</h1>a"),
        "/b": (500, {}, b""),
        "/c": (200, {"content-type": "application/pdf"}, b"%PDF"),
        "/d": gzip_response(b"x" * 6_000_000),
        "/e": redirect_response("http://169.254.169.254/latest/meta-data"),
        "/f": "<p>words" * 3 + "<div>" * 100_000,
        "/g": redirect_response("/g"),
        "/i": (
            200,
            {"content-type": "text/html", "content-encoding": "gzip"},
            gzip_response(html_page("<h1>I</h1>i").encode())[2][:-20],
        ),
    }
    with serve_site(pages) as web:
        book = crawl(web)
        assert page_paths(book, web) == ["/", "/a"]
    lost = {file for file, (_, is_lost) in notices_by_file(book).items() if is_lost}
    assert lost == {"b", "d", "f", "g", "i"}
    assert notices_by_file(book)["e"] == ("redirects to another site; left out", False)
    assert notices_by_file(book)["h"] == ("answers 404; left out", False)
    assert notices_by_file(book)["c"] == ("is not an HTML page; left out", False)


def test_an_endless_site_is_cut_off_with_a_notice() -> None:
    class Endless(dict[str, Any]):
        def get(self, path: str, default: object = None) -> Any:
            return (
                (404, {}, b"")
                if "." in path
                else html_page(f"<h1>{path}</h1><a href='{path.rstrip('/')}/on'>on</a> words")
            )

    with serve_site({}) as web:
        web.responses = Endless()
        book = crawl(web, limits=CrawlLimits(max_pages=7, delay_seconds=0.0))
    assert 7 <= len(book.pages) <= 11
    assert ["more pages than a crawl may read" in notice.message for notice in book.notices if notice.lost] == [True]


@pytest.mark.parametrize(
    ("sent", "charset", "expected"),
    [
        ("wörter".encode("latin-1"), "; charset=iso-8859-1", "wörter"),
        ("“wörter”".encode("cp1252"), "; charset=ISO-8859-1", "“wörter”"),
        ("слово".encode("koi8-r"), "; charset=koi8-r", "слово"),
        ("<meta charset=shift_jis>言葉".encode("shift_jis"), "", "言葉"),
        (b"\xef\xbb\xbf" + "wörter".encode(), "; charset=latin1", "wörter"),
        ("wörter".encode("utf-16"), "", "wörter"),
        ("wörter".encode("cp1252"), "; charset=utf-8", "wörter"),
        ("wörter".encode(), "; charset=rot13", "wörter"),
        (b"+AHcAbwByAGQ-", "; charset=utf-7", "+AHcAbwByAGQ-"),
    ],
)
def test_a_page_is_decoded_with_its_charset(sent: bytes, charset: str, expected: str) -> None:
    with serve_site({"/": (200, {"content-type": f"text/html{charset}"}, sent)}) as web:
        assert crawl(web).pages[0].text == expected


def test_a_redirect_of_the_first_page_moves_the_scope() -> None:
    pages = {
        "/docs": redirect_response("/docs/intro"),
        "/docs/intro": page_with_links("/docs/b", "/c"),
        "/docs/b": html_page("b"),
        "/c": html_page("c"),
    }
    with serve_site(pages) as web:
        assert page_paths(crawl(web, "/docs"), web) == ["/docs/b", "/docs/intro"]
    away = {
        "/old/": redirect_response("/new/"),
        "/new/": page_with_links("/new/b", "/old/c"),
        "/new/b": html_page("b"),
        "/old/c": html_page("c"),
    }
    with serve_site(away) as web:
        assert page_paths(crawl(web, "/old/"), web) == ["/new/", "/new/b"]


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("ftp://book.example/", "begins with https"),
        ("book.example", "begins with https"),
        ("file:///etc/passwd", "begins with https"),
        ("http://", "names a host"),
        ("http://user:secret@book.example/", "leave them out"),
        ("http://[::1/", "begins with https"),
        ("http://book.example:99999/", "malformed"),
        ("http://book.example/" + "a" * 3_000, "too long"),
    ],
)
def test_an_invalid_start_url_raises_an_error_with_advice(url: str, message: str) -> None:
    with pytest.raises(SourceError, match=message) as caught:
        crawl_site(url)
    assert "secret" not in str(caught.value)


def test_a_site_with_a_private_address_is_refused_unless_its_host_is_allowed() -> None:
    with serve_site({"/": html_page("words")}) as web:
        with pytest.raises(PrivateAddressError, match="crawl_allowed_hosts"):
            crawl_site(web.url)
        assert web.requested == []
        with pytest.raises(PrivateAddressError):
            crawl_site("https://book.example/", resolve=lambda host, port: ["127.0.0.1"])


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        ((404, {}, b""), "answers 404. Check the URL"),
        ((200, {"content-type": "application/pdf"}, b"x"), "no HTML page at this URL"),
        ((200, {"content-type": HTML}, b"<p hidden>x</p>"), "has no visible text"),
        ((200, {"content-type": HTML}, b"<meta name=robots content=noindex><p>x</p>"), "asks not to be indexed"),
    ],
)
def test_an_unusable_first_page_raises_an_error_with_advice(answer: Any, message: str) -> None:
    with serve_site({"/": answer}) as web, pytest.raises(SourceError, match=message):
        crawl(web)


def test_progress_is_reported_up_to_the_last_page() -> None:
    seen: list[tuple[int, int]] = []
    with serve_site({"/": page_with_links("a", "b"), "/a": html_page("a"), "/b": html_page("b")}) as web:
        crawl(web, progress=lambda done, total: seen.append((done, total)))
    assert seen[-1] == (3, 3)
    assert [done for done, _ in seen] == sorted(done for done, _ in seen)


@pytest.mark.parametrize("name", ["mdbook", "sphinx"])
def test_a_crawled_site_is_the_same_book_as_its_folder(name: str) -> None:
    local = read_html(SITES / name)
    with serve_site(folder_responses(SITES / name)) as web:
        book = crawl(web)
    assert [(each.title, each.chapter, each.text) for each in book.pages] == [
        (each.title, each.chapter, each.text) for each in local.pages
    ]
