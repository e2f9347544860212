"""Makes a book of the pages of a site."""

from __future__ import annotations

from bookbound.domain.document import ParsedBook
from bookbound.sources.html.html_page import parse_html_page, split_page_title
from bookbound.sources.html.site_book import assemble_site_book
from bookbound.sources.html.urls import page_key, resolve_url

HOME = "https://lamps.example/book/"


def book(pages: dict[str, str]) -> ParsedBook:
    looked = [parse_html_page(html, HOME + path, path or "index") for path, html in pages.items()]
    return assemble_site_book(looked, HOME, "Fallback", [])


def words(name: str, head: str = "", body: str = "") -> str:
    return f"<html><head>{head}</head><body>{body}<main><h1>{name}</h1><p>Words of {name}.</p></main></body></html>"


def canonical(path: str) -> str:
    return f"<link rel=canonical href='{HOME}{path}'>"


def test_each_page_follows_the_one_that_links_to_it() -> None:
    pages = {
        path: words(path, f"<link rel=next href={after}>" if after else "")
        for path, after in zip("abcd", ["d", "", "b", "c"], strict=True)
    }
    assert [page.title for page in book(pages).pages] == ["a", "d", "c", "b"]


def test_pages_that_link_in_circles_are_all_read() -> None:
    assert (
        len(book({path: words(path, f"<link rel=next href={after}>") for path, after in ("ab", "ba", "cc")}).pages) == 3
    )


def test_partial_navigations_are_merged() -> None:
    outer = "<nav><ul><li><a href=a>A</a></li>{}<li><a href=z>Z</a></ul></nav>"
    one = outer.format("<li>B<ul><li><a href=b1>B1</a><li><a href=b2>B2</a></ul></li>")
    two = outer.format("<li>Y<ul><li><a href=y1>Y1</a></ul></li>")
    pages = {path: words(path, body=one if path in ("a", "b1", "b2") else two) for path in ("z", "y1", "b2", "b1", "a")}
    found = book(pages)
    assert [page.title for page in found.pages] == ["a", "y1", "b1", "b2", "z"]
    assert [page.chapter for page in found.pages] == ["a", "Y", "B", "B", "z"]


def test_a_canonical_url_counts_and_other_versions_are_left_out() -> None:
    found = book(
        {"v1/a": words("old", canonical("a")), "a": words("new", canonical("a")), "b": words("b", canonical("b"))}
    )
    assert [(page.title, page.url) for page in found.pages] == [("new", f"{HOME}a"), ("b", f"{HOME}b")]
    assert [(notice.file, notice.message, notice.lost) for notice in found.notices] == [
        ("v1/a", "is another version of a page; left out", False)
    ]


def test_a_canonical_url_that_all_pages_share_is_ignored() -> None:
    found = book({path: words(path, canonical("")) for path in ("", "a", "b")})
    assert [page.url for page in found.pages] == [HOME, f"{HOME}a", f"{HOME}b"]


def test_a_redirect_is_left_out() -> None:
    found = book({"a": words("a"), "b": "<meta http-equiv=refresh content='0; url=a'><p>Moved here</p>"})
    assert [page.title for page in found.pages] == ["a"]


def test_a_title_without_the_site_name_replaces_a_missing_heading() -> None:
    pages = {path: f"<title>Page {path} | Lamps</title><main>words {path}</main>" for path in "abc"}
    found = book(pages)
    assert (found.title, [page.title for page in found.pages]) == ("Lamps", ["Page a", "Page b", "Page c"])


def test_tag_and_page_lists_are_left_out() -> None:
    others = ("tags/lamp", "page/2/", "blog/page/3", "search.html", "genindex", "_static/x.html", "_modules/a.html")
    found = book({path: words(path) for path in ("a", "page/intro", "search-engines", *others)})
    assert {page.file for page in found.pages} == {"a", "page/intro", "search-engines"}


def test_all_urls_of_a_page_have_one_key() -> None:
    same = ("https://A.example/b/", "https://a.example/b", "https://a.example/b/index.html", "https://a.example/b.html")
    assert len({page_key(url) for url in same}) == 1
    assert page_key("https://a.example/b?x=1") != page_key("https://a.example/b")


def test_a_url_is_normalised() -> None:
    assert resolve_url("https://bücher.example", "/wö rter?ä=1#x") == (
        "https://xn--bcher-kva.example/w%C3%B6%20rter?%C3%A4=1"
    )
    assert resolve_url("https://a.example/b/", "../w%C3%B6") == "https://a.example/w%C3%B6"


def test_a_title_is_split_at_its_last_separator() -> None:
    assert split_page_title("A - B | C") == ("A - B", "C")
    assert split_page_title("Well-known") == ("Well-known", "")
