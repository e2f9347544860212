"""The figures of the previous version next to those of this one."""

from __future__ import annotations

import pytest
from rich.console import Console

from bookbound.evaluation.metrics import compute_metrics
from lab.measure.previous_version import (
    ALL_DEVELOPMENT,
    FIGURES,
    build_comparison_table,
    load_previous,
    summarize,
    summarize_development,
)
from lab.measure.question_sets import BOOK, EXAMPLE, QuestionSet
from tests.evaluation.outcomes import make_answered, make_item, make_refused, make_unsure

DEVELOPMENT = [QuestionSet("example", EXAMPLE, BOOK), QuestionSet("mine", EXAMPLE, BOOK)]
ONE = compute_metrics([make_answered(0.9), make_unsure(0.3), make_refused(0.1)])
TWO = compute_metrics(
    [
        make_answered(0.9, right=False),
        make_refused(0.1, answerable=True, kind="fact"),
        make_answered(0.8, item=make_item(answerable=False), right=False),
        make_unsure(0.3, answerable=False),
    ]
)


def test_a_summary_agrees_with_the_metrics_of_a_set() -> None:
    figures = {name: round(share or 0, 4) for name, share in summarize([TWO]).items()}
    replies, answers = TWO["replies"], TWO["answers"]
    assert figures == {
        "recall@5": TWO["retrieval"]["by_question"]["recall@5"],
        "answered": answers["answered"],
        "answered_or_unsure": 0.5,
        "correct_and_cited": answers["correct_and_cited"],
        "precision": answers["precision"],
        "not_answered": replies["unanswerable"]["shares"]["not_answered"],
        "refused": replies["unanswerable"]["shares"]["refused"],
    }


def test_questions_of_several_sets_count_together() -> None:
    figures = summarize([ONE, TWO])
    assert (figures["answered"], figures["correct_and_cited"], figures["not_answered"]) == (0.5, 0.25, 2 / 3)


def test_the_previous_figures_have_the_names_of_the_figures_now() -> None:
    previous = load_previous()
    assert list(previous[ALL_DEVELOPMENT]) == list(FIGURES)
    assert all(set(figures) <= set(FIGURES) for figures in previous["sets"].values())
    recalls = [figures["recall@5"] for figures in previous["sets"].values()]
    assert round(sum(recalls) / len(recalls), 3) == previous[ALL_DEVELOPMENT]["recall@5"]


def test_the_table_shows_the_point_before_and_now_side_by_side(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lab.measure.previous_version.list_development_sets", lambda: DEVELOPMENT)
    metrics = {"example": ONE, "mine": TWO}
    with (console := Console(width=110)).capture() as capture:
        console.print(build_comparison_table(metrics))
    rows = [[cell.strip() for cell in line.strip("│").split("│")] for line in capture.get().splitlines()]
    assert "Before (answered from 0.86, unsure from 0.35) and now" in capture.get()
    assert ["example", "evidence in the first 5", "0.910", "1.000", "+0.090"] in rows
    assert ["mine", "evidence in the first 5", "–", "0.500", ""] in rows
    assert ["development", "evidence in the first 5", "0.905", "0.750", "-0.155"] in rows
    assert ["", "answerable: correct and cited", "0.160", "0.250", "+0.090"] in rows


def test_one_set_alone_has_no_column_of_all_sets() -> None:
    assert summarize_development({"example": ONE}) is None
