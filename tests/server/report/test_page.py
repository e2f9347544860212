"""The page of the report."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path
from xml.etree import ElementTree

import pytest
from tests.server.query_log.entries import entry, refused
from tests.server.report.logs import UNTIL, book, reported

from bookbound.domain.book_ref import BookRef
from bookbound.domain.query_log_entry import QueryMode
from bookbound.server.report import presentation
from bookbound.server.report.presentation import render_report

HOSTILE = "</summary></style><script>alert(1)</script><img src=https://x.example/y onerror='a()'> \"&amp;"


class Tags(HTMLParser):
    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: set[str] = set()
        self.attributes: set[str] = set()
        self.words = ""
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}

    def handle_data(self, data: str) -> None:
        self.words += data


def test_words_of_readers_and_book_are_shown_and_never_taken_for_markup(tmp_path: Path) -> None:
    entries = [refused(f"{HOSTILE} {more}", created=UNTIL) for more in ("", "now", "please")]
    entries.append(refused(f"{HOSTILE} alone", created=UNTIL, mode=QueryMode.SELECTION))
    entries.append(entry(HOSTILE, created=UNTIL, chapters=(HOSTILE,)))
    html = render_report(reported(tmp_path, entries, book(HOSTILE, f"{HOSTILE} never")))
    seen = Tags(html)
    assert not seen.tags & {"script", "img", "link", "iframe"}
    assert not any(name.startswith("on") or name in ("src", "href") for name in seen.attributes)
    assert seen.words.count("<script>alert(1)</script>") == 6
    assert "default-src 'none'" in html


@pytest.mark.parametrize("days", [0, 1, 2, 30])
def test_plots_are_whole_however_many_days_there_are(days: int) -> None:
    held = [
        {"day": f"2027-03-{number + 1:02}", "asked": number, "answered": number // 2, "refused": 0, "errors": 0}
        | ({"p50": 10.0 * number, "p95": 30.0 * number} if number % 3 else {"p50": None, "p95": None})
        for number in range(days)
    ]
    for picture in (presentation.plot_questions(held), presentation.plot_latency(held)):
        root = ElementTree.fromstring(picture)
        numbers = [float(each.get(name, "0")) for each in root.iter() for name in ("x", "y", "x1", "x2", "cx", "cy")]
        assert all(-1 <= number <= 430 for number in numbers)
        bars = [each for each in root.iter() if each.get("class") == "bar"]
        assert len(bars) == (days if picture == presentation.plot_questions(held) else 0)


def test_an_empty_log_is_a_page(tmp_path: Path) -> None:
    html = render_report(reported(tmp_path, []))
    assert "Nothing in this time." in html
    assert html.count("<svg") == 2


def test_a_line_of_a_plot_has_a_look_that_leaves_what_is_below_it_bare(tmp_path: Path) -> None:
    html = render_report(reported(tmp_path, [entry(created=UNTIL), refused(created=UNTIL)]))
    looks = set(re.findall(r'<polyline class="(\w+)"', html))
    assert looks
    assert [look for look in looks if f".{look} {{ fill: none;" not in html] == []


def test_the_page_names_the_book_and_says_what_it_is_not_on(tmp_path: Path) -> None:
    entries = [
        entry(created=UNTIL, volume=BookRef("robots", "2.0"), chapters=("Gaits",)),
        entry(created=UNTIL, chapters=("Hello",)),
    ]
    books = {BookRef("robots", "2.0"): book(HOSTILE, title=HOSTILE)}
    one = Tags(render_report(reported(tmp_path, entries, books, on=BookRef("robots", "2.0")))).words
    assert f"What readers ask {HOSTILE}, edition 2.0" in one
    assert "Other books or editions were asked 1×" in one
    assert "Hello" not in one
    both = render_report(reported(tmp_path, [], books, on=BookRef("all")))
    assert not Tags(both).tags & {"script", "img"}
    for words in ("What readers ask all books", "robots: Gaits", "(without a name): Hello", "robots@2.0 ("):
        assert words in Tags(both).words
    assert "Other books" not in both
