"""The report of the comparison and the page of the documentation have the recorded figures."""

from __future__ import annotations

from lab.compare.report_tables import replace_tables
from lab.compare.results_page import PAGE, REPORT, choose_page_tables, load_tables


def test_the_report_has_the_recorded_figures() -> None:
    text = REPORT.read_text(encoding="utf-8")
    assert replace_tables(text, load_tables()) == text


def test_the_page_that_compares_has_the_recorded_figures() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert replace_tables(text, choose_page_tables(load_tables())) == text
