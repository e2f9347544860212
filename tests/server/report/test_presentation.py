"""The page of the report."""

from __future__ import annotations

import re
from datetime import timedelta
from pathlib import Path

import pytest
from tests.evaluation.pages import HOSTILE_TEXT, ParsedPage, is_within_frame, render_svg
from tests.server.query_log.factories import make_entry, make_refused_entry
from tests.server.report.report_factory import UNTIL, build_report, make_manifest

from bookbound.domain.book_ref import BookRef
from bookbound.domain.trace import QueryMode
from bookbound.evaluation.svg_plots import SvgPlot
from bookbound.server.report.presentation import plot_latency, plot_questions, render_report


def test_no_text_of_readers_or_book_is_taken_for_markup(tmp_path: Path) -> None:
    entries = [make_refused_entry(f"{HOSTILE_TEXT} {more}", created_at=UNTIL) for more in ("", "now", "please")]
    entries.append(make_refused_entry(f"{HOSTILE_TEXT} alone", created_at=UNTIL, mode=QueryMode.SELECTION))
    entries.append(make_entry(HOSTILE_TEXT, created_at=UNTIL, chapters=(HOSTILE_TEXT,)))
    html = render_report(build_report(tmp_path, entries, make_manifest(HOSTILE_TEXT, f"{HOSTILE_TEXT} never")))
    page = ParsedPage(html)
    assert not page.tags & {"script", "img", "link", "iframe"}
    assert not any(name.startswith("on") or name in ("src", "href") for name in page.attributes)
    assert page.text.count("<script>alert(1)</script>") == 6
    assert "default-src 'none'" in html


@pytest.mark.parametrize("count", [0, 1, 2, 30])
def test_plots_are_within_their_frame_for_any_number_of_days(count: int) -> None:
    days = [
        {
            "day": f"2027-03-{number + 1:02}",
            "asked": number,
            "answered": number // 2,
            "unsure": 0,
            "refused": 0,
            "errors": 0,
        }
        | ({"p50": 10.0 * number, "p95": 30.0 * number} if number % 3 else {"p50": None, "p95": None})
        for number in range(count)
    ]
    for plot in (plot_questions(days), plot_latency(days)):
        assert is_within_frame(render_svg(plot))


def test_the_bar_of_a_day_has_a_part_for_each_outcome_in_the_order_of_the_counts() -> None:
    day = {"day": "2027-03-31", "asked": 10, "answered": 4, "unsure": 3, "refused": 2, "errors": 1}
    bars = [shape for shape in render_svg(plot_questions([day])).iter() if shape.tag == "rect"]
    assert [bar.get("class") for bar in bars] == ["answered", "unsure", "refused", "errors"]
    bottoms = [float(bar.get("y", "")) + float(bar.get("height", "")) for bar in bars]
    assert bottoms == sorted(bottoms, reverse=True)
    assert bottoms[1:] == pytest.approx([float(bar.get("y", "")) for bar in bars[:-1]])


def test_one_day_is_a_narrow_bar_and_two_dots_with_its_date_and_no_line(tmp_path: Path) -> None:
    report = build_report(tmp_path, [make_entry(created_at=UNTIL), make_refused_entry(created_at=UNTIL)])
    for plot in (plot_questions(report["by_day"]), plot_latency(report["by_day"])):
        svg = render_svg(plot)
        assert [shape for shape in svg.iter() if shape.tag == "polyline"] == []
        assert [label for _, label in plot.x_ticks] == ["03-31"]
        assert all(float(bar.get("width", "")) < SvgPlot.width / 4 for bar in svg.iter() if bar.tag == "rect")
    assert len([shape for shape in render_svg(plot).iter() if shape.tag == "circle"]) == 2


def test_an_empty_log_has_a_page(tmp_path: Path) -> None:
    html = render_report(build_report(tmp_path, []))
    assert "Nothing in this time." in html
    assert html.count("<svg") == 2


def test_the_area_below_a_line_is_not_filled(tmp_path: Path) -> None:
    times = (UNTIL - timedelta(days=1), UNTIL)
    html = render_report(build_report(tmp_path, [make_entry(created_at=time) for time in times]))
    styles = set(re.findall(r'<polyline class="(\w+)"', html))
    assert styles
    assert [style for style in styles if f".{style} {{ fill: none;" not in html] == []


def test_the_page_names_its_book_and_counts_questions_to_others(tmp_path: Path) -> None:
    entries = [
        make_entry(created_at=UNTIL, book_ref=BookRef("robots", "2.0"), chapters=("Gaits",)),
        make_entry(created_at=UNTIL, chapters=("Hello",)),
    ]
    books = {BookRef("robots", "2.0"): make_manifest(HOSTILE_TEXT, title=HOSTILE_TEXT)}
    one = ParsedPage(render_report(build_report(tmp_path, entries, books, book_ref=BookRef("robots", "2.0")))).text
    assert f"What readers ask {HOSTILE_TEXT}, edition 2.0" in one
    assert "Other books or editions got 1 questions." in one
    assert "Hello" not in one
    both = ParsedPage(render_report(build_report(tmp_path, [], books, book_ref=BookRef("all"))))
    assert not both.tags & {"script", "img"}
    for text in ("What readers ask all books", "robots: Gaits", "(without a name): Hello", "robots@2.0 ("):
        assert text in both.text
    assert "Other books" not in both.text
