"""The report of the comparison has the recorded figures."""

from __future__ import annotations

from lab.compare.results_page import REPORT, load_tables, replace_tables


def test_the_report_has_the_recorded_figures() -> None:
    text = REPORT.read_text(encoding="utf-8")
    assert replace_tables(text, load_tables()) == text
