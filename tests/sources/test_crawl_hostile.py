"""A site that means ill gets what any other gets: its pages are read, within bounds, and called by one name each."""

from __future__ import annotations

import json
from typing import Any

import pytest
from tests.sources.test_crawl import crawled, linked, paths, told
from tests.sources.web import HTML, Web, moved, page, serving

from bookbound.sources.crawl.fetch_limits import CrawlLimits


def sitemap(*places: str) -> tuple[int, dict[str, str], bytes]:
    return 200, {}, f"<urlset>{''.join(f'<url><loc>{place}</loc></url>' for place in places)}</urlset>".encode()


def files(web: Web, **changes: Any) -> list[str]:
    return sorted(found.file for found in crawled(web, **changes).pages)


@pytest.mark.parametrize(
    "place",
    ["http://[::1", "{url}:99999/a", "http://127.0.0.1:abc/a", "http://[bad/", "http://", "\ud7ff", "a b", "x" * 5_000],
)
def test_an_address_that_is_none_sinks_nothing(place: str) -> None:
    with serving({"/": page("<h1>Home</h1>words"), "/b": page("<h1>B</h1>b")}) as web:
        place = place.format(url="http://127.0.0.1")
        web.answers["/robots.txt"] = (200, {}, f"Sitemap: {place}\nSitemap: {web.url}/own.xml".encode())
        web.answers["/own.xml"] = sitemap(place, f"{web.url}/b")
        assert paths(crawled(web), web) == ["/", "/b"]


def test_no_user_or_password_becomes_part_of_an_address() -> None:
    with serving({}) as web:
        secret = web.url.replace("http://", "http://user:secret@")
        head = f"<link rel=canonical href='{secret}/'><link rel=next href='{secret}/n'><base href='{secret}/base/'>"
        web.answers |= {
            "/": page(f"<h1>Home</h1>words <a href='{secret}/linked'>on</a> <a href=b>b</a>", head),
            "/b": page("<h1>B</h1>b"),
            "/sitemap.xml": sitemap(f"{secret}/b", f"{web.url}/b"),
        }
        book = crawled(web)
        assert paths(book, web) == ["/", "/b"]
        assert "secret" not in repr((book, web.asked))


def test_a_path_may_hold_any_number() -> None:
    long = "9" * 1_900
    with serving({"/": linked(long, "9a", "10a")}) as web:
        web.answers |= {f"/{name}": page(f"<h1>{name[:3]}</h1>words") for name in (long, "9a", "10a")}
        assert [found.file for found in crawled(web).pages] == ["index", "9a", "10a", long]


@pytest.mark.parametrize(
    "others",
    [["//a"], ["/a/"], ["/a/index.html"], ["/%61"], ["/b/../a"], ["/b/%2e%2E/a"], ["/./a"], ["/a.html"], ["/a#x"]],
    ids="".join,
)
def test_an_address_that_is_written_in_two_ways_is_one_page(others: list[str]) -> None:
    with serving({"/": page("<h1>Home</h1>words")}) as web:
        web.answers |= {path: page("<h1>A</h1>a") for path in ("/a", *others)}
        web.answers["/sitemap.xml"] = sitemap(*(web.url + path for path in ("/a", *others)))
        assert files(web) == ["a", "index"]


def test_every_page_has_a_name_of_its_own() -> None:
    names = ["/a", "/a?x", "/a?y", "/a%3Fx", "/A", "/a%2Fb", "/a/b", "/a%20b", "/%C3%A4", "/index?x", "/a;x", "/a%25"]
    with serving({"/": page("<h1>Home</h1>words")}) as web:
        web.answers |= {path: page(f"<h1>{at}</h1>words") for at, path in enumerate(names)}
        web.answers["/sitemap.xml"] = sitemap(*(web.url + path for path in names))
        found = files(web)
        assert len(set(found)) == len(found) == len(names) + 1


def test_a_way_that_leads_away_from_the_site_is_not_gone() -> None:
    with serving({"/": page("elsewhere")}) as elsewhere, serving({"/": linked("a", "b"), "/b": page("b")}) as web:
        web.answers["/a"] = moved(elsewhere.url + "/")
        book = crawled(web)
        assert paths(book, web) == ["/", "/b"]
        assert told(book)["a"] == ("leads to another site; left out", False)
        assert elsewhere.asked == []


def test_a_step_back_leads_where_robots_txt_is_kept_to() -> None:
    with serving({"/robots.txt": (200, {}, b"User-agent: *\nDisallow: /private"), "/private": page("p")}) as web:
        web.answers["/"] = linked(f"{web.url}/a/../private", f"{web.url}/a/%2e%2e/%70rivate")
        assert paths(crawled(web), web) == ["/"]
        assert not any("private" in path for path in web.asked)


def test_no_more_addresses_are_asked_than_may_be_whatever_they_answer() -> None:
    with serving({"/": linked(*(f"missing{at}" for at in range(100)))}) as web:
        book = crawled(web, bounds=CrawlLimits(asked=20, pause=0.0))
        assert sum("missing" in path for path in web.asked) == 19
        assert [notice.message for notice in book.notices if notice.lost] == ["has more pages than a crawl may take"]


@pytest.mark.parametrize(
    "kind",
    [f"{HTML}; charset*{'1' * 5_000}=x", f"{HTML};" + '"' * 50_000, f"{HTML}; charset*0*=%ff''%ff", "text/html; \xff"],
    ids=["long number", "quotes", "parts", "latin"],
)
def test_a_kind_that_is_odd_is_that_of_a_page_still(kind: str) -> None:
    with serving({"/": (200, {"content-type": kind}, page("<h1>Home</h1>words").encode())}) as web:
        assert paths(crawled(web), web) == ["/"]


def test_a_map_of_half_characters_is_read() -> None:
    docs = [
        {"location": "\ud800#x", "title": "Half"},
        {"location": "", "title": "Home"},
        {"location": "#\ud800", "title": "Home"},
        {"location": "b/", "title": "\ud800"},
    ]
    with serving({"/": page("<h1>Home</h1>words", "<meta name=generator content=mkdocs>"), "/b/": page("b")}) as web:
        web.answers["/search/search_index.json"] = (200, {}, json.dumps({"docs": docs}).encode())
        book = crawled(web)
        assert paths(book, web) == ["/", "/b/"]
        assert (book.pages[0].blocks[0].anchor, book.pages[1].title) == ("?", "?")
