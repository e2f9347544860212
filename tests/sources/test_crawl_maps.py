"""A site on the web is read by the map that its generator made of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.sources import map_files
from tests.sources.map_files import Lines, inventory
from tests.sources.test_crawl import QUICK, SITES, crawled, paths, told
from tests.sources.web import HTML, folder, page, serving

from bookbound.sources.crawl.fetch_limits import CrawlLimits
from bookbound.sources.html.built_site import read_html

SPHINX = "<meta name=generator content='Sphinx 9.0'>"
MAP = "text/javascript"
LISTED: Lines = [("index", "Home", ""), ("a", "A", ""), ("deep/b", "B", "")]


def found(name: str) -> str:
    return page(f"<h1>{name}</h1><p>Words.</p>")


def answered(data: str | bytes) -> tuple[int, dict[str, str], bytes]:
    return 200, {"content-type": MAP}, data.encode() if isinstance(data, str) else data


def test_pages_that_nothing_leads_to_are_found_by_the_map() -> None:
    pages = {
        "/book/": page("<h1>Home</h1><a href=demo.html>on</a> words", SPHINX),
        "/book/a.html": found("A"),
        "/book/deep/b.html": found("B"),
        "/book/demo.html": found("Demo"),
        "/book/searchindex.js": answered(map_files.sphinx(LISTED)),
    }
    with serving(pages) as web:
        book = crawled(web, "/book/")
        assert paths(book, web) == ["/book/", "/book/a.html", "/book/deep/b.html"]
        assert "/book/demo.html" not in web.asked
    assert book.maps == ("searchindex.js",)
    assert [(notice.message[:27], notice.lost) for notice in book.notices] == [("links to 1 more addresses t", False)]


def test_the_inventory_says_how_pages_are_addressed() -> None:
    listed = "index std:doc -1  Home\na std:doc -1 a/ A\ndeep/b std:doc -1 deep/b/ B\nsearch std:label -1 search/ S\n"
    pages = {
        "/": page("<h1>Home</h1>words", SPHINX),
        "/a/": found("A"),
        "/deep/b/": found("B"),
        "/objects.inv": answered(inventory(listed)),
        "/searchindex.js": answered(map_files.sphinx(LISTED)),
    }
    with serving(pages) as web:
        book = crawled(web)
        assert paths(book, web) == ["/", "/a/", "/deep/b/"]
        assert not {"/a.html", "/search/"} & set(web.asked)
    assert book.maps == ("objects.inv", "searchindex.js")


def test_a_map_leads_nowhere_but_into_the_site_and_past_no_rule_of_robots() -> None:
    outside: Lines = [(name, "X", "") for name in ("//elsewhere.example/x", "/other", "../up", "http://[", "x.pdf#")]
    listed = [("", "Home", ""), ("a", "A", ""), ("private/b", "B", ""), *outside]
    pages = {
        "/robots.txt": (200, {}, b"User-agent: *\nDisallow: /book/private/\n"),
        "/book/": page("<h1>Home</h1>words", "<meta name=generator content='mkdocs-1.6.1'>"),
        "/book/a": found("A"),
        "/book/private/b": found("B"),
        "/book/search/search_index.json": answered(map_files.mkdocs(listed)),
    }
    with serving(pages) as web:
        assert paths(crawled(web, "/book/"), web) == ["/book/", "/book/a"]
        assert set(web.asked) - {"/robots.txt", "/book/sitemap.xml", "/sitemap.xml"} == {
            "/book/",
            "/book/a",
            "/book/search/search_index.json",
        }


def test_navigation_is_followed_beside_a_map_and_other_links_are_not() -> None:
    nav = "<nav><ul><li><a href=unsearched.html>U</a></ul></nav>"
    pages = {
        "/": nav + page("<h1>Home</h1>words <a href=linked.html>on</a>", SPHINX),
        "/a.html": found("A"),
        "/unsearched.html": found("Unsearched"),
        "/linked.html": found("Linked"),
        "/searchindex.js": answered(map_files.sphinx(LISTED[:2])),
    }
    with serving(pages) as web:
        assert paths(crawled(web), web) == ["/", "/unsearched.html", "/a.html"]


def test_a_sitemap_that_lists_less_than_the_map_takes_nothing_away() -> None:
    with serving({}) as web:
        web.answers |= {
            "/": page("<h1>Home</h1>words", SPHINX),
            "/a.html": found("A"),
            "/deep/b.html": found("B"),
            "/searchindex.js": answered(map_files.sphinx(LISTED)),
            "/sitemap.xml": answered(f"<urlset><url><loc>{web.url}/</loc></url></urlset>"),
        }
        assert paths(crawled(web), web) == ["/", "/a.html", "/deep/b.html"]


@pytest.mark.parametrize(
    ("answer", "notice"),
    [
        (answered("Search.setIndex(broken"), "is no map of the site that can be read"),
        ((200, {"content-type": MAP}, b"x" * 300_000), "is larger than 200 kB"),
        ((500, {}, b""), "answers 500"),
        (answered(map_files.sphinx([("x", "X", ""), ("y", "Y", "")])), "lists pages that are not there"),
        ((404, {}, b""), ""),
        ((200, {"content-type": HTML}, b"<h1>Home</h1>"), ""),
    ],
)
def test_without_a_map_that_can_be_used_links_are_followed(answer: Any, notice: str) -> None:
    pages = {
        "/": page("<h1>Home</h1>words <a href=a.html>on</a>", SPHINX),
        "/a.html": found("A"),
        "/searchindex.js": answer,
    }
    bounds = CrawlLimits(pause=0.001, silence=2.0, longest_wait=1.0, page_bytes=200_000)
    with serving(pages) as web:
        book = crawled(web, bounds=bounds)
        assert paths(book, web) == ["/", "/a.html"]
    assert (notice in told(book)["searchindex.js"][0]) if notice else (book.notices == ())
    assert not any(each.lost for each in book.notices)


def test_a_site_whose_generator_is_not_known_is_not_asked_for_maps() -> None:
    with serving({"/": page("<h1>Home</h1>words")}) as web:
        crawled(web)
        assert set(web.asked) == {"/", "/robots.txt", "/sitemap.xml"}


def test_a_book_with_a_map_is_the_same_on_the_web_as_in_its_folder(tmp_path: Path) -> None:
    lines: Lines = [
        (f"{name}.html", name, "") for name in ("index", "care/oil", "care/clean", "care/wick", "wiring/plan")
    ]
    answers = dict(folder(SITES / "mdbook")) | {"/searchindex.js": answered(map_files.mdbook(lines))}
    local = read_html(SITES / "mdbook")
    with serving(answers) as web:
        book = crawled(web, bounds=QUICK)
        assert "/print.html" not in web.asked
    assert [(each.title, each.chapter, each.text) for each in book.pages] == [
        (each.title, each.chapter, each.text) for each in local.pages
    ]
