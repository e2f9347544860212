"""Normalises URLs and rejects unusable ones."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bookbound.sources.html.urls import MAX_URL_CHARS, resolve_url

BASE = "https://a.example/b/"


@pytest.mark.parametrize(
    ("href", "expected"),
    [
        ("c", "/b/c"),
        ("//a.example//c///d/", "/c/d/"),
        ("https://a.example//c", "/c"),
        ("https://A.Example:443/c", "/c"),
        ("/x/../c", "/c"),
        ("https://a.example/x/../../c/.", "/c/"),
        ("/x/%2E%2e/c", "/c"),
        ("/%63%2f%c3%a4", "/c%2F%C3%A4"),
        ("/ä b", "/%C3%A4%20b"),
        ("/50%", "/50%25"),
        ("/c?x=%61%20b#f", "/c?x=a%20b"),
        ("", "/b/"),
    ],
)
def test_equal_urls_are_normalised_alike(href: str, expected: str) -> None:
    assert resolve_url(BASE, href) == f"https://a.example{expected}"


@pytest.mark.parametrize(
    "href",
    [
        "http://[::1",
        "http://a.example:99999/",
        "http://a.example:abc/",
        "http://a.example:0/",
        "http://user@a.example/",
        "http://user:secret@a.example/",
        "http://@a.example/",
        "http://a%2eexample/",
        "http://a b/",
        "http:///c",
        "ftp://a.example/",
        "/\ud800",
        "x" * MAX_URL_CHARS,
        "ä" * (MAX_URL_CHARS // 4),
    ],
)
def test_an_unusable_url_is_rejected(href: str) -> None:
    assert resolve_url(BASE, href) == ""


@given(st.text() | st.from_regex(r"(https?:)?/{0,3}[a-z%./:@?#\[\]0-9]{0,30}"))
def test_a_normalised_url_stays_the_same(href: str) -> None:
    found = resolve_url(BASE, href)
    assert not found or (found.isascii() and resolve_url(BASE, found) == resolve_url(found, "") == found)


@given(st.text(), st.text())
def test_a_resolved_link_is_an_http_url_or_empty(url: str, href: str) -> None:
    for base in (url, "https://a.example/b/"):
        found = resolve_url(base, href)
        assert not found or (found.startswith(("http://", "https://")) and "#" not in found)
