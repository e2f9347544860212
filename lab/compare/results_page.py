"""`python -m lab.compare.results_page`: writes the tables of RESULTS.md and docs/compare.md, and the plots."""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median
from typing import Any

from bookbound.evaluation import compute_percentile
from lab.compare.report_tables import NOT_MEASURED, format_rows, replace_tables
from lab.compare.system import ENTRIES
from lab.compare.written_section import build_written_section

FOLDER = Path(__file__).resolve().parent
RESULTS, GROWTH, WRITTEN = FOLDER / "results.json", FOLDER / "growth.json", FOLDER / "written.json"
REPORT, PAGE = FOLDER / "RESULTS.md", FOLDER.parents[1] / "docs" / "compare.md"
PAGE_TABLES = ("retrieval", "written")
FAILED = "failed"
Figures = dict[str, Any]
Cell = Callable[[Figures], str]


def format_spread(values: Sequence[float], digits: int = 1) -> str:
    """The median, and the smallest and the largest value if they are others."""
    low, middle, high = (f"{value:,.{digits}f}" for value in (min(values), median(values), max(values)))
    return middle if low == high else f"{middle} ({low} to {high})"


def _rounds(path: str, share: float | None = None, digits: int = 1, scale: float = 1.0) -> Cell:
    """A figure of each round, or a percentile of its times."""

    def cell(system: Figures) -> str:
        values: list[float] = []
        for each in system["rounds"]:
            value: Any = each
            for key in path.split("."):
                value = value[key]
            values.append((value if share is None else compute_percentile(value, share) or 0.0) * scale)
        return format_spread(values, digits) if values else NOT_MEASURED

    return cell


def _books(key: str, digits: int = 1) -> Cell:
    """The sum over the books; for memory the largest."""

    def cell(system: Figures) -> str:
        values = [book[key] for book in system["index"].values()]
        return f"{max(values) if key.endswith('memory_mb') else sum(values):,.{digits}f}"

    return cell


def _quality(key: str, digits: int = 3) -> Cell:
    def cell(system: Figures) -> str:
        value = system["quality"][key]
        return NOT_MEASURED if value is None else f"{value:,.{digits}f}"

    return cell


def build_tables(results: Figures) -> dict[str, str]:
    """The tables by the name of their place in RESULTS.md."""
    per_100k = 100_000 / results["characters_of_sample"]
    tables: dict[str, dict[str, Cell]] = {
        "retrieval": {
            "recall@1": _quality("recall@1"),
            "recall@5": _quality("recall@5"),
            "recall@20": _quality("recall@20"),
            "MRR": _quality("mrr"),
            "AUC of the best score": _quality("auc"),
        },
        "answers": {
            "right, of the answerable": _quality("right"),
            "right replies to all questions, as set up": _quality("right_all"),
            "the same with the best threshold in hindsight": _quality("right_all_best_threshold"),
            "characters of an answer, median": _quality("answer_characters", 0),
        },
        "indexing": {
            "s for 100,000 characters": _rounds("sample.index_s", scale=per_100k),
            "processor s for 100,000 characters": _rounds("sample.index_cpu_s", scale=per_100k),
            "processor s for the books, once": _books("index_cpu_s"),
            "chunks of the books": _books("chunks", 0),
            "index, MB": _books("index_mb"),
            "peak memory, MB": _books("index_memory_mb", 0),
        },
        "questions": {
            "import, s": _rounds("import_s"),
            "cold start, s": _rounds("cold_s"),
            "p50, 1 client, ms": _rounds("one_ms", 0.5, 0),
            "p95, 1 client, ms": _rounds("one_ms", 0.95, 0),
            "p50, 16 clients, ms": _rounds("many_ms", 0.5, 0),
            "p95, 16 clients, ms": _rounds("many_ms", 0.95, 0),
            "processor ms": _rounds("cpu_ms", None, 0),
            "memory, MB": _rounds("memory_mb", None, 0),
        },
    }
    return {name: _build_table(results["systems"], columns) for name, columns in tables.items()} | {
        "machine": _build_machine_list(results)
    }


def _build_table(systems: Figures, columns: dict[str, Cell]) -> str:
    rows = [["system", "embedding model", *columns]]
    for name, system in systems.items():
        entry = ENTRIES[name]
        cells = (FAILED if "error" in system else cell(system) for cell in columns.values())
        rows.append([entry.title, entry.model, *cells])
    return format_rows(rows)


def _build_machine_list(results: Figures) -> str:
    machine, systems = results["machine"], results["systems"]
    measured = [system for system in systems.values() if "error" not in system]
    loads = [each["load"] for system in measured for each in (*system["rounds"], *system["index"].values())]
    failures = [
        f"- Failed: {ENTRIES[name].title} with {ENTRIES[name].model}: {system['error']}"
        for name, system in systems.items()
        if "error" in system
    ]
    books = [
        f"{name} ({book['pages']} pages, {book['characters']:,} characters, {book['questions']} questions, "
        f"{book['answerable']} answerable)"
        for name, book in results["books"].items()
    ]
    versions = ", ".join(f"{name} {number}" for name, number in machine["versions"].items())
    return "\n".join(
        [
            f"- {machine['date']}, {machine['cpu']} at the start, {machine['memory_gb']} GB; "
            f"load during the run {format_spread(loads) if loads else NOT_MEASURED}",
            f"- Bookbound {machine.get('commit')}, Python {machine['python']}, {versions}",
            f"- Books: {'; '.join(books)}",
            *failures,
        ]
    )


def fit_exponent(sizes: Sequence[float], values: Sequence[float]) -> float:
    """The exponent of the power of the size that fits best, by least squares of the logarithms."""
    xs, ys = [math.log(size) for size in sizes], [math.log(value) for value in values]
    x, y = sum(xs) / len(xs), sum(ys) / len(ys)
    return sum((a - x) * (b - y) for a, b in zip(xs, ys, strict=True)) / sum((a - x) ** 2 for a in xs)


def extrapolate(sizes: Sequence[float], values: Sequence[float], size: float) -> float:
    """The value at a larger size, from the largest measured one and the fitted exponent."""
    exponent: float = fit_exponent(sizes, values)
    return float(values[-1] * (size / sizes[-1]) ** exponent)


GROWTH_ROWS: dict[str, Callable[[Figures, float], float]] = {
    "write and publish, s": lambda row, _: row["write_s"] + row["publish_s"],
    "processor time for it, s": lambda row, _: row["index_cpu_s"],
    "embedding, s": lambda row, seconds: row["chunks"] * seconds,
    "index on disk, MB": lambda row, _: row["disk_mb"],
    "peak memory of indexing without the start, MB": lambda row, _: row["index_memory_mb"] - row["memory_before_mb"],
    "memory of an open index, MB": lambda row, _: row["search_memory_mb"],
    "open, s": lambda row, _: row["open_s"],
    "search, p50 ms": lambda row, _: row["search_ms"]["p50"],
    "search, p95 ms": lambda row, _: row["search_ms"]["p95"],
}
TIMED_ROWS = {"write and publish, s", "open, s", "search, p50 ms", "search, p95 ms"}
LARGEST_SIZE, MAX_LOAD_RATIO, HIGH_PRIORITY = 1_000_000, 2.0, -15
"""Times of sizes that were measured under very different loads say nothing about growth, unless they had priority."""


def list_growth_rows(growth: Figures) -> list[str]:
    """The rows that say something about growth: without times if the load differed much."""
    loads = [row["load"] for row in growth["sizes"]]
    has_priority = growth["machine"].get("priority", 0) <= HIGH_PRIORITY
    is_steady = has_priority or max(loads) <= MAX_LOAD_RATIO * min(loads)
    return [name for name in GROWTH_ROWS if is_steady or name not in TIMED_ROWS]


def build_growth_table(growth: Figures) -> str:
    """The cost by number of chunks, the fitted exponents, and what they say about a million chunks if none was run."""
    rows, seconds = growth["sizes"], growth["embedding_s_per_chunk"]
    sizes = [row["chunks"] for row in rows]
    is_extrapolated = max(sizes) < LARGEST_SIZE
    head = ["chunks", *(f"{size:,}" for size in sizes), "exponent"]
    table = [head + [f"{LARGEST_SIZE:,}, extrapolated"] * is_extrapolated]
    for name, compute in GROWTH_ROWS.items():
        values = [compute(row, seconds) for row in rows]
        fitted = f"{fit_exponent(sizes, values):.2f}", _format_number(extrapolate(sizes, values, LARGEST_SIZE))
        if name not in list_growth_rows(growth):
            fitted = NOT_MEASURED, NOT_MEASURED
        table.append([name, *map(_format_number, values), *fitted[: 1 + is_extrapolated]])
    notes = [
        f"- {growth['machine']['date']}, {growth['machine']['cpu']} at the start; load after each size "
        + ", ".join(f"{row['load']:.1f}" for row in rows)
        + f"; priority {growth['machine'].get('priority', 0)}",
        f"- Embedding takes {growth['embedding_s_per_chunk'] * 1000:.0f} ms per chunk "
        f"({growth['embedded_chunks']} of {growth['real_chunks']} real chunks embedded). Its row is that figure "
        "times the chunks.",
    ]
    if unpublished := [f"{row['chunks']:,}" for row in rows if not row["is_published"]]:
        notes.append(f"- Written, but not published, for want of memory: {', '.join(unpublished)}.")
    return "\n".join([format_rows(table), "", *notes])


def _format_number(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.1f}" if value >= 1 else f"{value:.2f}"


def load_tables() -> dict[str, str]:
    """All tables; the section about written answers is empty if no answers were judged."""
    results = json.loads(RESULTS.read_text(encoding="utf-8"))
    written = build_written_section(json.loads(WRITTEN.read_text(encoding="utf-8"))) if WRITTEN.exists() else ""
    growth = build_growth_table(json.loads(GROWTH.read_text(encoding="utf-8")))
    return build_tables(results) | {"growth": growth, "written": written}


def choose_page_tables(tables: dict[str, str]) -> dict[str, str]:
    """The tables that docs/compare.md has too."""
    return {name: tables[name] for name in PAGE_TABLES}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--no-plots", action="store_true", help="write only the tables")
    options = parser.parse_args()
    tables = load_tables()
    for file, shown in ((REPORT, tables), (PAGE, choose_page_tables(tables))):
        file.write_text(replace_tables(file.read_text(encoding="utf-8"), shown), encoding="utf-8")
    if not options.no_plots:
        from lab.compare.plots import draw_plots

        draw_plots(json.loads(RESULTS.read_text(encoding="utf-8")), json.loads(GROWTH.read_text(encoding="utf-8")))


if __name__ == "__main__":
    main()
