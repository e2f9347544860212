"""`python -m evals`: the example book and, where they are at hand, the real books' question sets, as one table."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence

from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from bookbound import wire
from bookbound.measure.figures import DEPTHS, Plain
from bookbound.measure.outcome import Outcome
from bookbound.measure.page import page
from bookbound.measure.report import report
from bookbound.measure.tables import share
from bookbound.settings import Settings
from evals.hostile import hostile
from evals.sets import OUT, QuestionSet, ask, make_index, sets
from evals.sources import Sources, is_marked, is_verbatim


def measure(asked: QuestionSet, reuse: bool, progress: Progress) -> Plain:
    """The figures of one set; its report is written beside its index."""
    if not (reuse and asked.index.exists()):
        make_index(asked, progress)
    pipeline, outcomes = ask(asked, progress)
    measured = report(pipeline, outcomes, wire.point(Settings(index=asked.index), pipeline.index.manifest))
    (OUT / f"{asked.name}.html").write_text(page(measured), encoding="utf-8")
    return measured | {"verbatim_in_source": _verbatim(outcomes, Sources(asked.source))}


def _verbatim(outcomes: Sequence[Outcome], sources: Sources) -> str:
    quotes = [each for outcome in outcomes for each in outcome.given.reply.citations]
    others = [each for each in quotes if not is_verbatim(each, sources)]
    marked = sum(is_marked(each, sources) for each in others)
    return f"{len(quotes) - len(others)} of {len(quotes)}" + f", {marked} marked as shown for others" * bool(marked)


def cells(measured: Plain) -> dict[str, str]:
    """The figures of one set that stand in the table."""
    found, pieces = measured["retrieval"]["by_question"], measured["retrieval"]["by_evidence"]
    answers, refusals, times = measured["answers"], measured["refusals"], measured["latency_ms"]["all"]
    return {
        "questions": str(measured["questions"]["all"]),
        **{f"evidence in the first {depth}": share(found[f"recall@{depth}"]) for depth in DEPTHS},
        **{f"pieces of evidence in the first {depth}": share(pieces[f"recall@{depth}"]) for depth in DEPTHS},
        "answerable: answered": share(answers["answered"]),
        "answerable: evidence cited": share(answers["evidence_found"]),
        "answerable: correct and cited": share(answers["correct_and_cited"]),
        "correct of the answers given": share(answers["precision"]),
        **_offered(measured),
        "token F1 with the evidence, where answered": share(answers["where_answered"]["token_f1"]),
        "unanswerable: refused": share(refusals["recall"]),
        **{f"refused: {kind}": f"{of['refused']} of {of['questions']}" for kind, of in refusals["by_kind"].items()},
        "quotes verbatim in the source": measured["verbatim_in_source"],
        "expected calibration error": share(measured["calibration"]["ece"]),
        "time for a question, p50 ms": f"{times['p50']:.0f}",
        "time for a question, p95 ms": f"{times['p95']:.0f}",
    }


def _offered(measured: Plain) -> dict[str, str]:
    """What the answers with a reservation add: the curve where a reply begins."""
    point = measured["operating_point"]
    lowest = min(point["answered"], point["drafted"])
    row = next(row for row in measured["curve"] if row["answered"] >= lowest)
    return {
        "with those offered: answered": share(row["coverage"]),
        "with those offered: correct and cited": share(row["correct"]),
        "with those offered: correct of the answers": share(row["precision"]),
        "with those offered: unanswerable refused": share(row["refused_all"]),
    }


def table(measured: dict[str, Plain]) -> Table:
    """One column for each set."""
    columns = {name: cells(figures) for name, figures in measured.items()}
    shown = Table("measure", title="Bookbound on its question sets")
    for name in columns:
        shown.add_column(name, justify="right")
    for row in dict.fromkeys(row for column in columns.values() for row in column):
        shown.add_row(row, *(column.get(row, "") for column in columns.values()))
    return shown


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", help="measure this set alone")
    parser.add_argument("--reuse", action="store_true", help="take the indexes of the last run")
    options = parser.parse_args()
    OUT.mkdir(exist_ok=True)
    with Progress(console=Console(stderr=True)) as progress:
        chosen = [each for each in sets() if options.only in (None, each.name)]
        measured = {each.name: measure(each, options.reuse, progress) for each in chosen}
    Console(width=110).print(table(measured))
    Console(width=110).print(hostile())
    (OUT / "summary.json").write_text(json.dumps(measured, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
