"""Draws the plots of RESULTS.md."""

from __future__ import annotations

from pathlib import Path
from statistics import median
from typing import Any

import matplotlib

from bookbound.evaluation import compute_percentile
from lab.compare.results_page import GROWTH_ROWS, list_growth_rows
from lab.compare.system import BOOKBOUND, ENTRIES, SEARCH_ALONE

matplotlib.use("Agg")
matplotlib.rcParams["svg.hashsalt"] = "bookbound"  # the same figures give the same file
PLOTS = Path(__file__).resolve().parent / "plots"
COLOURS = {"same": "#1f5fa8", "own": "#c77700"}
Figures = dict[str, Any]


def draw_plots(results: Figures, growth: Figures, suffix: str = "svg") -> None:
    """Draws quality against time, if times were measured, and cost against size."""
    PLOTS.mkdir(exist_ok=True)
    measured = {name: system for name, system in results["systems"].items() if system.get("rounds")}
    if measured:
        _draw_comparison(measured, PLOTS / f"comparison.{suffix}")
    _draw_growth(growth, PLOTS / f"growth.{suffix}")


def _draw_comparison(systems: Figures, file: Path) -> None:
    from matplotlib import pyplot

    figure, (answers, ranking) = pyplot.subplots(1, 2, figsize=(11, 4.5), layout="constrained")
    panels = ((answers, "right_all_best_threshold", "right replies, best threshold"), (ranking, "recall@5", "recall@5"))
    for axes, key, label in panels:
        for name, system in systems.items():
            entry, is_ours = ENTRIES[name], name in (BOOKBOUND, SEARCH_ALONE)
            times = [compute_percentile(each["one_ms"], 0.5) for each in system["rounds"]]
            x, y = median(time for time in times if time is not None), system["quality"][key]
            axes.plot(x, y, "D" if is_ours else "o", color=COLOURS[entry.embedding], markersize=7)
            axes.annotate(entry.title, (x, y), xytext=(5, 4), textcoords="offset points", fontsize=8)
        axes.set(xscale="log", xlabel="p50 of an answer, 1 client, ms", ylabel=label)
        axes.grid(alpha=0.3)
    answers.set_title("blue: Bookbound's embedding model, orange: each one's own", fontsize=9)
    _save(figure, file)


def _draw_growth(growth: Figures, file: Path) -> None:
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(7, 4.5), layout="constrained")
    rows, seconds = growth["sizes"], growth["embedding_s_per_chunk"]
    for name in list_growth_rows(growth):
        values = [GROWTH_ROWS[name](row, seconds) for row in rows]
        axes.plot([row["chunks"] for row in rows], values, "o-", label=name)
    axes.set(xscale="log", yscale="log", xlabel="chunks", ylabel="s, MB or ms")
    axes.grid(alpha=0.3)
    axes.legend(fontsize=7)
    _save(figure, file)


def _save(figure: Any, file: Path) -> None:
    metadata = {"Date": None} if file.suffix == ".svg" else None
    figure.savefig(file, metadata=metadata, dpi=110)
