"""A site on the web is read as its pages, its map and its robots.txt say, and nothing beyond."""

from __future__ import annotations

import gzip
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from tests.sources.web import HOST, HTML, Web, folder, moved, packed, page, serving

from bookbound.domain.document import ParsedBook
from bookbound.domain.errors import SourceError
from bookbound.sources.crawl import crawl_site
from bookbound.sources.crawl.fetch_limits import CrawlLimits
from bookbound.sources.crawl.ssrf_guard import PrivateAddressError

QUICK = CrawlLimits(pause=0.001, silence=2.0, page_seconds=2.0, longest_wait=1.0, at_once=2)
SITES = Path(__file__).parent / "sites"


def crawled(web: Web, path: str = "/", **changes: Any) -> ParsedBook:
    return crawl_site(web.url + path, (HOST,), bounds=changes.pop("bounds", QUICK), **changes)


def paths(book: ParsedBook, web: Web) -> list[str]:
    return [found.url.removeprefix(web.url) for found in book.pages]


def told(book: ParsedBook) -> Mapping[str, tuple[str, bool]]:
    return {notice.file: (notice.message, notice.lost) for notice in book.notices}


def linked(*targets: str) -> str:
    return page(
        "<h1>Start</h1><p>Words.</p>" + "".join(f"<p><a href='{target}'>on</a> and on</p>" for target in targets)
    )


def test_links_are_followed_below_the_address_on_the_same_origin_alone() -> None:
    pages = {
        "/book/": linked(
            "a", "b/c?utm=1#x", "../other", "//elsewhere.example/book/x", "mailto:x", "data.zip", "/bookish"
        ),
        "/book/a": linked("./", "b/c", "A"),
        "/book/b/c": page("<h1>C</h1>c"),
        "/book/A": page("<h1>Large</h1>a"),
        "/other": page("other"),
        "/bookish": page("bookish"),
    }
    with serving(pages) as web:
        book = crawled(web, "/book/")
        assert paths(book, web) == ["/book/", "/book/A", "/book/a", "/book/b/c"]
        assert {path for path in web.asked if not path.endswith((".txt", ".xml"))} == {
            "/book/",
            "/book/a",
            "/book/A",
            "/book/b/c",
        }
    assert (book.kind, book.title, book.pages[3].title, book.notices) == ("html", "Start", "C", ())


def test_the_map_says_which_pages_there_are() -> None:
    listed = "".join(f"<url><loc>{{0}}/docs/{name}</loc></url>" for name in ("b", "a?page=2", "a"))
    with serving({}) as web:
        web.answers |= {
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
            "/docs/": linked("unlisted"),
            **{f"/docs/{name}": page(f"<h1>{name}</h1>words") for name in ("a", "b", "a?page=2", "unlisted")},
        }
        book = crawled(web, "/docs/")
        assert sorted(paths(book, web)) == ["/docs/", "/docs/a", "/docs/a?page=2", "/docs/b"]
        assert len({found.file for found in book.pages}) == 4
        assert "/docs/unlisted" not in web.asked


@pytest.mark.parametrize(
    "broken",
    [
        b"<urlset",
        b"\x1f\x8bbroken",
        gzip.compress(b"<x>" * 30_000_000, 1),
        b'<!DOCTYPE x [<!ENTITY a "b">]><urlset>&a;</urlset>',
    ],
)
def test_a_broken_map_is_none(broken: bytes) -> None:
    with serving({"/": linked("a"), "/a": page("<h1>A</h1>a"), "/sitemap.xml": (200, {}, broken)}) as web:
        assert paths(crawled(web), web) == ["/", "/a"]


def test_what_robots_txt_keeps_out_is_not_asked_for_not_even_by_a_redirect() -> None:
    rules = b"User-agent: bookbound\nDisallow: /private\n\nUser-agent: *\nDisallow: /"
    pages = {
        "/robots.txt": (200, {}, rules),
        "/": linked("private/a", "b", "c"),
        "/b": moved("/private/b"),
        "/c": page("<h1>C</h1>c"),
    }
    with serving(pages) as web:
        book = crawled(web)
        assert paths(book, web) == ["/", "/c"]
        assert not any(path.startswith("/private") for path in web.asked)
        assert told(book)["b"] == ("its robots.txt keeps it out; left out", False)


def test_a_site_that_forbids_its_first_page_says_what_to_do() -> None:
    with (
        serving({"/robots.txt": (200, {}, b"User-agent: *\nDisallow: /"), "/": "x"}) as web,
        pytest.raises(SourceError, match=r"robots\.txt keeps it out.*index the folder"),
    ):
        crawled(web)


def test_nothing_is_asked_while_nobody_knows_what_robots_txt_forbids() -> None:
    with serving({"/robots.txt": (503, {}, b""), "/": page("x")}) as web:
        with pytest.raises(SourceError, match=r"answers 503\. Try again later"):
            crawled(web)
        assert set(web.asked) == {"/robots.txt"}


def test_a_delay_is_kept_within_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    slept: list[float] = []
    monkeypatch.setattr("bookbound.sources.crawl.fetcher.sleep", slept.append)
    with serving(
        {"/robots.txt": (200, {}, b"User-agent: *\nCrawl-delay: 86400"), "/": linked("a"), "/a": page("a")}
    ) as web:
        assert paths(crawled(web), web) == ["/", "/a"]
    assert 9 < max(slept) < 60


def test_pages_may_ask_not_to_be_indexed_or_followed() -> None:
    pages = {
        "/": linked("hidden", "header", "quiet"),
        "/hidden": page("<h1>Hidden</h1>words <a href=from-hidden>on</a>", "<meta name=robots content='NOINDEX'>"),
        "/header": (200, {"content-type": HTML, "x-robots-tag": "noindex"}, page("<h1>H</h1>words").encode()),
        "/quiet": page("<h1>Q</h1>words <a href=from-quiet>on</a>", "<meta name=robots content='nofollow'>"),
        "/from-hidden": page("<h1>Found</h1>words"),
        "/from-quiet": page("<h1>Not found</h1>words"),
    }
    with serving(pages) as web:
        book = crawled(web)
        assert paths(book, web) == ["/", "/from-hidden", "/quiet"]
    assert told(book)["hidden"] == told(book)["header"] == ("asks not to be indexed; left out", False)


def test_one_odd_page_never_sinks_the_book() -> None:
    pages = {
        "/": linked(*"abcdefghi"),
        "/a": page("<h1>A</h1>a"),
        "/b": (500, {}, b""),
        "/c": (200, {"content-type": "application/pdf"}, b"%PDF"),
        "/d": packed(b"x" * 6_000_000),
        "/e": moved("http://169.254.169.254/latest/meta-data"),
        "/f": "<p>words" * 3 + "<div>" * 100_000,
        "/g": moved("/g"),
        "/i": (
            200,
            {"content-type": "text/html", "content-encoding": "gzip"},
            packed(page("<h1>I</h1>i").encode())[2][:-20],
        ),
    }
    with serving(pages) as web:
        book = crawled(web)
        assert paths(book, web) == ["/", "/a"]
    lost = {file for file, (_, is_lost) in told(book).items() if is_lost}
    assert lost == {"b", "d", "f", "g", "i"}
    assert told(book)["e"] == ("leads to another site; left out", False)
    assert told(book)["h"] == ("answers 404; left out", False)
    assert told(book)["c"] == ("is no page of HTML; left out", False)


def test_a_site_without_end_is_cut_and_said_to_be() -> None:
    class Endless(dict[str, Any]):
        def get(self, path: str, default: object = None) -> Any:
            return (
                (404, {}, b"") if "." in path else page(f"<h1>{path}</h1><a href='{path.rstrip('/')}/on'>on</a> words")
            )

    with serving({}) as web:
        web.answers = Endless()
        book = crawled(web, bounds=CrawlLimits(pages=7, pause=0.0))
    assert 7 <= len(book.pages) <= 11
    assert ["more pages than a crawl may take" in notice.message for notice in book.notices if notice.lost] == [True]


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
def test_a_page_is_read_in_the_encoding_it_was_sent_in(sent: bytes, charset: str, expected: str) -> None:
    with serving({"/": (200, {"content-type": f"text/html{charset}"}, sent)}) as web:
        assert crawled(web).pages[0].text == expected


def test_a_first_page_that_moved_takes_the_site_with_it() -> None:
    pages = {
        "/docs": moved("/docs/intro"),
        "/docs/intro": linked("/docs/b", "/c"),
        "/docs/b": page("b"),
        "/c": page("c"),
    }
    with serving(pages) as web:
        assert paths(crawled(web, "/docs"), web) == ["/docs/b", "/docs/intro"]
    away = {"/old/": moved("/new/"), "/new/": linked("/new/b", "/old/c"), "/new/b": page("b"), "/old/c": page("c")}
    with serving(away) as web:
        assert paths(crawled(web, "/old/"), web) == ["/new/", "/new/b"]


@pytest.mark.parametrize(
    ("url", "why"),
    [
        ("ftp://book.example/", "begins with https"),
        ("book.example", "begins with https"),
        ("file:///etc/passwd", "begins with https"),
        ("http://", "holds a host"),
        ("http://user:secret@book.example/", "leave them out"),
        ("http://[::1/", "begins with https"),
        ("http://book.example:99999/", "malformed"),
        ("http://book.example/" + "a" * 3_000, "too long"),
    ],
)
def test_what_is_no_address_of_a_site_says_what_one_is(url: str, why: str) -> None:
    with pytest.raises(SourceError, match=why) as caught:
        crawl_site(url)
    assert "secret" not in str(caught.value)


def test_a_site_that_is_not_of_the_open_network_is_refused_unless_it_is_named() -> None:
    with serving({"/": page("words")}) as web:
        with pytest.raises(PrivateAddressError, match="crawl_hosts"):
            crawl_site(web.url)
        assert web.asked == []
        with pytest.raises(PrivateAddressError):
            crawl_site("https://book.example/", resolve=lambda host, port: ["127.0.0.1"])


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        ((404, {}, b""), "answers 404. Check the address"),
        ((200, {"content-type": "application/pdf"}, b"x"), "no page of HTML at this address"),
        ((200, {"content-type": HTML}, b"<p hidden>x</p>"), "shows no words"),
        ((200, {"content-type": HTML}, b"<meta name=robots content=noindex><p>x</p>"), "asks not to be indexed"),
    ],
)
def test_a_hopeless_start_says_what_to_do(answer: Any, why: str) -> None:
    with serving({"/": answer}) as web, pytest.raises(SourceError, match=why):
        crawled(web)


def test_progress_is_told_up_to_the_last_page() -> None:
    seen: list[tuple[int, int]] = []
    with serving({"/": linked("a", "b"), "/a": page("a"), "/b": page("b")}) as web:
        crawled(web, progress=lambda done, of: seen.append((done, of)))
    assert seen[-1] == (3, 3)
    assert [done for done, _ in seen] == sorted(done for done, _ in seen)


@pytest.mark.parametrize("name", ["mdbook", "sphinx"])
def test_a_built_site_is_the_same_book_on_the_web_as_in_its_folder(name: str) -> None:
    from bookbound.sources.html.built_site import read_html

    local = read_html(SITES / name)
    with serving(folder(SITES / name)) as web:
        book = crawled(web)
    assert [(each.title, each.chapter, each.text) for each in book.pages] == [
        (each.title, each.chapter, each.text) for each in local.pages
    ]
