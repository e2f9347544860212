"""Recognises pages that are too costly to parse."""

from __future__ import annotations

import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bookbound.sources.html.elements import HtmlElement
from bookbound.sources.html.selectolax import HtmlDocument, is_too_costly

LIMITED = """
import resource
resource.setrlimit(resource.RLIMIT_CPU, (30, 30))
resource.setrlimit(resource.RLIMIT_AS, (2_000_000_000, 2_000_000_000))
from bookbound.sources.html.html_page import parse_html_page
from tests.sources.html.test_selectolax import HOSTILE
for html in HOSTILE.values():
    parse_html_page(html, "http://book.example/", "a.html")
"""
HOSTILE = {
    "elements": "<div>" * 200_000,
    "names": "<" + "><".join(f"x{at}" for at in range(50_000)),
    "attributes": "<p " + " ".join(f"a{at}" for at in range(60_000)) + ">",
    "attributes with values": "<p " + " ".join(f"a{at}='>'" for at in range(60_000)) + ">",
    "equals": "<p " + "= " * 300_000,
    "formatting": "<p>" + "".join(f"<b a={at}>" for at in range(900)) + "<p>x" * 100_000,
    "options": "<select>" + "<option>" * 200_000,
    "drawn rows": "<svg>" + "<tr>" * 200_000,
    "hidden in a drawing": "<svg><title><p a='</title>" + "<g>" * 200_000,
    "lists": "<ul><li>" * 3_000 + "x",
    "tables": "<table><tr><td>" * 3_000 + "x",
    "navigation": "<nav><ul><li><a href=a>x</a>" * 1_000,
    "articles": "<article>" * 5_000 + "x",
    "formulas": "<div class=math>" * 5_000 + "<math>x",
    "headings": "<h1><span>" * 5_000 + "x",
    "drawn links": "<svg>" + "<a href='#x'>" * 13_000 + "word",
    "drawn navigation": "<nav><svg>" + "<a href=b>" * 10_000 + "word " * 100_000,
    "headings of navigation": "<nav>" + "<h2><div>" * 5_000 + "word",
    "labels": "<nav><ul><li><a href=b></a>" + "<label>" * 10_000,
    "links": "<a href=b>x</a>" * 20_000,
    "comments": "<!--" * 200_000,
    "quotes": "<p a='" * 100_000,
    "scripts": "<script>" * 100_000,
    "brackets": "<" * 1_000_000,
    "code": "<pre>" + "<div>x</div>" * 10_000,
    "entities": "&amp" * 300_000,
    "styles": "<p style='" + "display:" * 100_000 + "'>x",
}


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="no limit on processor time here")
def test_hostile_pages_are_parsed_within_limits() -> None:
    limited = subprocess.run([sys.executable, "-c", LIMITED], capture_output=True, text=True, check=False)
    assert (limited.returncode, limited.stderr[-500:]) == (0, "")


@pytest.mark.parametrize(
    "name", ["elements", "attributes", "attributes with values", "equals", "formatting", "options", "drawn rows"]
)
def test_a_page_that_is_too_costly_is_empty(name: str) -> None:
    document = HtmlDocument(HOSTILE[name])
    assert document.is_too_costly
    assert document.select_first(("p", "div")) is None


@pytest.mark.parametrize(
    "html",
    [
        "<p>words <br> and <b>more</b>" * 10_000,
        "<ul>" + "<li>item" * 50_000,
        "<table>" + "<tr><td>a<td>b" * 20_000,
        "<div><p class='a b' id=x data-y='<div>'>words</p></div>" * 5_000,
        "<script>" + "if (a < b) { '<div>' }" * 20_000 + "</script><p>words",
        "<span>" * 300 + "words",
    ],
)
def test_a_long_page_is_parsed(html: str) -> None:
    assert not is_too_costly(html)


@given(st.text() | st.text(alphabet="<>/='\" \nabsvgp!-"))
def test_the_cost_of_any_text_can_be_estimated(html: str) -> None:
    assert not is_too_costly(html)


def test_an_element_has_text_and_attributes() -> None:
    found = HtmlDocument("<div class='a  b' hidden>one <b>two</b>\n three</div>").select_first(("div",))
    assert isinstance(found, HtmlElement)
    assert (found.text(2), found.text(1)) == ("on", "o")
    assert (found.text(), found.classes, found.get("hidden"), found.get("id")) == ("one two three", ["a", "b"], "", "")


def test_removed_elements_are_left_out() -> None:
    found = HtmlDocument("<main>one<nav>two<p hidden>three</p></nav><p hidden>four</p>five</main>").select_first(
        ("main",), "nav, [hidden]"
    )
    assert found is not None
    assert found.text() == "onefive"
