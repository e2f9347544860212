"""A crawl finds pages in the search index of the site's generator."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.sources import search_index_files
from tests.sources.crawl.helpers import QUICK_LIMITS, SITES, crawl, notices_by_file, page_paths
from tests.sources.local_server import HTML, folder_responses, html_page, serve_site
from tests.sources.search_index_files import Lines, make_inventory

from bookbound.sources.crawl.fetch_limits import CrawlLimits
from bookbound.sources.html.built_site import read_html

SPHINX = "<meta name=generator content='Sphinx 9.0'>"
MAP = "text/javascript"
LISTED: Lines = [("index", "Home", ""), ("a", "A", ""), ("deep/b", "B", "")]


def found(name: str) -> str:
    return html_page(f"<h1>{name}</h1><p>Words.</p>")


def answered(data: str | bytes) -> tuple[int, dict[str, str], bytes]:
    return 200, {"content-type": MAP}, data.encode() if isinstance(data, str) else data


def test_unlinked_pages_are_found_in_the_search_index() -> None:
    pages = {
        "/book/": html_page("<h1>Home</h1><a href=demo.html>on</a> words", SPHINX),
        "/book/a.html": found("A"),
        "/book/deep/b.html": found("B"),
        "/book/demo.html": found("Demo"),
        "/book/searchindex.js": answered(search_index_files.sphinx(LISTED)),
    }
    with serve_site(pages) as web:
        book = crawl(web, "/book/")
        assert page_paths(book, web) == ["/book/", "/book/a.html", "/book/deep/b.html"]
        assert "/book/demo.html" not in web.requested
    assert book.search_indexes == ("searchindex.js",)
    assert [(notice.message[:27], notice.lost) for notice in book.notices] == [("links to 1 more URLs that n", False)]


def test_the_sphinx_inventory_gives_the_urls_of_pages() -> None:
    listed = "index std:doc -1  Home\na std:doc -1 a/ A\ndeep/b std:doc -1 deep/b/ B\nsearch std:label -1 search/ S\n"
    pages = {
        "/": html_page("<h1>Home</h1>words", SPHINX),
        "/a/": found("A"),
        "/deep/b/": found("B"),
        "/objects.inv": answered(make_inventory(listed)),
        "/searchindex.js": answered(search_index_files.sphinx(LISTED)),
    }
    with serve_site(pages) as web:
        book = crawl(web)
        assert page_paths(book, web) == ["/", "/a/", "/deep/b/"]
        assert not {"/a.html", "/search/"} & set(web.requested)
    assert book.search_indexes == ("objects.inv", "searchindex.js")


def test_a_search_index_does_not_lead_out_of_the_site_or_past_robots_txt() -> None:
    outside: Lines = [(name, "X", "") for name in ("//elsewhere.example/x", "/other", "../up", "http://[", "x.pdf#")]
    listed = [("", "Home", ""), ("a", "A", ""), ("private/b", "B", ""), *outside]
    pages = {
        "/robots.txt": (200, {}, b"User-agent: *\nDisallow: /book/private/\n"),
        "/book/": html_page("<h1>Home</h1>words", "<meta name=generator content='mkdocs-1.6.1'>"),
        "/book/a": found("A"),
        "/book/private/b": found("B"),
        "/book/search/search_index.json": answered(search_index_files.mkdocs(listed)),
    }
    with serve_site(pages) as web:
        assert page_paths(crawl(web, "/book/"), web) == ["/book/", "/book/a"]
        assert set(web.requested) - {"/robots.txt", "/book/sitemap.xml", "/sitemap.xml"} == {
            "/book/",
            "/book/a",
            "/book/search/search_index.json",
        }


def test_with_a_search_index_only_navigation_links_are_followed() -> None:
    nav = "<nav><ul><li><a href=unsearched.html>U</a></ul></nav>"
    pages = {
        "/": nav + html_page("<h1>Home</h1>words <a href=linked.html>on</a>", SPHINX),
        "/a.html": found("A"),
        "/unsearched.html": found("Unsearched"),
        "/linked.html": found("Linked"),
        "/searchindex.js": answered(search_index_files.sphinx(LISTED[:2])),
    }
    with serve_site(pages) as web:
        assert page_paths(crawl(web), web) == ["/", "/unsearched.html", "/a.html"]


def test_sitemap_and_search_index_are_combined() -> None:
    with serve_site({}) as web:
        web.responses |= {
            "/": html_page("<h1>Home</h1>words", SPHINX),
            "/a.html": found("A"),
            "/deep/b.html": found("B"),
            "/searchindex.js": answered(search_index_files.sphinx(LISTED)),
            "/sitemap.xml": answered(f"<urlset><url><loc>{web.url}/</loc></url></urlset>"),
        }
        assert page_paths(crawl(web), web) == ["/", "/a.html", "/deep/b.html"]


@pytest.mark.parametrize(
    ("answer", "notice"),
    [
        (answered("Search.setIndex(broken"), "is not a readable search index"),
        ((200, {"content-type": MAP}, b"x" * 300_000), "is larger than 200 kB"),
        ((500, {}, b""), "answers 500"),
        (answered(search_index_files.sphinx([("x", "X", ""), ("y", "Y", "")])), "lists pages that do not exist"),
        ((404, {}, b""), ""),
        ((200, {"content-type": HTML}, b"<h1>Home</h1>"), ""),
    ],
)
def test_without_a_usable_search_index_links_are_followed(answer: Any, notice: str) -> None:
    pages = {
        "/": html_page("<h1>Home</h1>words <a href=a.html>on</a>", SPHINX),
        "/a.html": found("A"),
        "/searchindex.js": answer,
    }
    limits = CrawlLimits(
        delay_seconds=0.001, read_timeout_seconds=2.0, max_retry_wait_seconds=1.0, max_page_bytes=200_000
    )
    with serve_site(pages) as web:
        book = crawl(web, limits=limits)
        assert page_paths(book, web) == ["/", "/a.html"]
    assert (notice in notices_by_file(book)["searchindex.js"][0]) if notice else (book.notices == ())
    assert not any(each.lost for each in book.notices)


def test_a_site_of_an_unknown_generator_is_not_asked_for_search_indexes() -> None:
    with serve_site({"/": html_page("<h1>Home</h1>words")}) as web:
        crawl(web)
        assert set(web.requested) == {"/", "/robots.txt", "/sitemap.xml"}


def test_a_crawled_site_with_a_search_index_is_the_same_book_as_its_folder(tmp_path: Path) -> None:
    lines: Lines = [
        (f"{name}.html", name, "") for name in ("index", "care/oil", "care/clean", "care/wick", "wiring/plan")
    ]
    answers = dict(folder_responses(SITES / "mdbook")) | {"/searchindex.js": answered(search_index_files.mdbook(lines))}
    local = read_html(SITES / "mdbook")
    with serve_site(answers) as web:
        book = crawl(web, limits=QUICK_LIMITS)
        assert "/print.html" not in web.requested
    assert [(each.title, each.chapter, each.text) for each in book.pages] == [
        (each.title, each.chapter, each.text) for each in local.pages
    ]
