"""`python -m evals`: the example book and, where they are at hand, the real books' question sets, as one table."""

from __future__ import annotations

import argparse
import asyncio
import json
import os
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path

from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from bookbound import wire
from bookbound.settings import Settings
from evals.measure import DEPTHS, Outcome, Summary, put, summarise
from evals.questions import EXAMPLE, Item, Sources, load

ROOT = Path(__file__).resolve().parent.parent
OUT = ROOT / "evals" / "out"


def sets() -> dict[str, tuple[Path, Path]]:
    """Question file and source of each book to measure on."""
    shared = Path(os.environ.get("BOOKBOUND_SHARED", ROOT.parent / "shared")) / "data"
    found = {"example": (EXAMPLE, ROOT / "examples" / "book")}
    for file in sorted((shared / "questions").glob("*.jsonl")):
        found[file.stem] = (file, shared / "books" / file.stem)
    return found


def measure(name: str, questions: Path, source: Path, reuse: bool, progress: Progress) -> list[Outcome]:
    """Index one book and put its questions to it."""
    settings = Settings(index=OUT / name)
    if not (reuse and settings.index.exists()):
        bar = progress.add_task(f"{name}: index", total=None)
        wire.index_book(source, settings, lambda stage, done, total: progress.update(bar, completed=done, total=total))
    items = load(questions)
    bar = progress.add_task(f"{name}: ask", total=len(items))
    return asyncio.run(_ask(settings, items, Sources(source), lambda: progress.advance(bar)))


async def _ask(settings: Settings, items: list[Item], sources: Sources, tick: Callable[[], None]) -> list[Outcome]:
    return await put(await wire.pipeline(settings), items, sources, tick)


def table(summaries: dict[str, Summary]) -> Table:
    kinds = sorted({kind for summary in summaries.values() for kind in summary.refused})
    shown = Table(title="Bookbound on its question sets")
    shown.add_column("measure")
    rows: dict[str, list[str]] = {}
    for name, summary in summaries.items():
        shown.add_column(name, justify="right")
        cells = {"questions": str(summary.questions)}
        cells |= {f"evidence in the first {depth}": f"{summary.found[depth]:.2f}" for depth in DEPTHS}
        cells |= {f"pieces of evidence in the first {depth}": f"{summary.recall[depth]:.2f}" for depth in DEPTHS}
        cells |= {
            "answerable: answered": f"{summary.answered:.2f}",
            "answerable: evidence cited": f"{summary.cited:.2f}",
            "answerable: correct and cited": f"{summary.correct:.2f}",
            "correct of the answers given": f"{summary.precision:.2f}",
        }
        cells |= {f"refused: {kind}": "{} of {}".format(*summary.refused.get(kind, (0, 0))) for kind in kinds}
        cells["quotes verbatim at their offsets"] = "{} of {}".format(*summary.verbatim)
        cells["time for a question, median ms"] = f"{summary.median_ms:.0f}"
        for row, cell in cells.items():
            rows.setdefault(row, []).append(cell)
    for row, values in rows.items():
        shown.add_row(row, *values)
    return shown


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", help="measure this set alone")
    parser.add_argument("--reuse", action="store_true", help="take the indexes of the last run")
    options = parser.parse_args()
    summaries = {}
    with Progress(console=Console(stderr=True)) as progress:
        for name, (questions, source) in sets().items():
            if options.only in (None, name):
                summaries[name] = summarise(measure(name, questions, source, options.reuse, progress))
    Console(width=110).print(table(summaries))
    (OUT / "summary.json").write_text(json.dumps({name: asdict(s) for name, s in summaries.items()}, indent=1) + "\n")


if __name__ == "__main__":
    main()
