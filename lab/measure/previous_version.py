"""Compares the figures of the question sets with those of the previous version, which `previous.json` has."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from rich.table import Table

from bookbound.evaluation import MetricsDict, compute_mean
from bookbound.evaluation.html_report import format_share
from lab.measure.question_sets import MEASURE, list_development_sets

PREVIOUS = MEASURE / "previous.json"
ALL_DEVELOPMENT = "development"
"""The name of all development sets together."""
FIGURES = {
    "recall@5": "evidence in the first 5",
    "answered": "answerable: answered",
    "answered_or_unsure": "answerable: answered or unsure",
    "correct_and_cited": "answerable: correct and cited",
    "precision": "correct of the answers",
    "not_answered": "unanswerable: not answered",
    "refused": "unanswerable: refused",
}
Figures = dict[str, float | None]


def summarize(sets: Sequence[MetricsDict]) -> Figures:
    """The figures of all questions of the sets together; `recall@5` is the mean of the sets."""
    rows = [row for metrics in sets for row in metrics["rows"]]
    answerable, unanswerable = ([row["status"] for row in rows if row["answerable"] is each] for each in (True, False))
    right = [row["verdict"] == "right" for row in rows if row["answerable"]]
    recalls = [metrics["retrieval"]["by_question"]["recall@5"] for metrics in sets]
    return {
        "recall@5": compute_mean([recall for recall in recalls if recall is not None]),
        "answered": compute_mean([status == "answered" for status in answerable]),
        "answered_or_unsure": compute_mean([status != "refused" for status in answerable]),
        "correct_and_cited": compute_mean(right),
        "precision": compute_mean([row["verdict"] == "right" for row in rows if row["status"] == "answered"]),
        "not_answered": compute_mean([status != "answered" for status in unanswerable]),
        "refused": compute_mean([status == "refused" for status in unanswerable]),
    }


def summarize_development(metrics: dict[str, MetricsDict]) -> Figures | None:
    """The figures of all development questions together, if several sets were measured."""
    sets = [metrics[each.name] for each in list_development_sets() if each.name in metrics]
    return summarize(sets) if len(sets) > 1 else None


def format_figures(figures: Figures) -> dict[str, str]:
    return {label: format_share(figures[name]) for name, label in FIGURES.items()}


def load_previous() -> dict[str, Any]:
    previous: dict[str, Any] = json.loads(PREVIOUS.read_text(encoding="utf-8"))
    return previous


def build_comparison_table(metrics: dict[str, MetricsDict]) -> Table:
    """The figures of each set, and of the development sets together, before this version and now."""
    previous = load_previous()
    now = {name: summarize([each]) for name, each in metrics.items()}
    if development := summarize_development(metrics):
        now[ALL_DEVELOPMENT] = development
    point = previous["point"]
    title = f"Before (answered from {point['answered']}, unsure from {point['unsure']}) and now"
    table = Table("set", "measure", title=title)
    for column in ("before", "now", "change"):
        table.add_column(column, justify="right")
    for name, figures in now.items():
        before = previous["sets"].get(name) or (previous[ALL_DEVELOPMENT] if name == ALL_DEVELOPMENT else {})
        for i, (key, label) in enumerate(FIGURES.items()):
            table.add_row("" if i else name, label, *_format_change(before.get(key), figures[key]))
        table.add_section()
    return table


def _format_change(before: float | None, now: float | None) -> tuple[str, str, str]:
    change = "" if before is None or now is None else f"{now - before:+.3f}"
    return format_share(before), format_share(now), change
