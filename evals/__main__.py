"""`python -m evals`: the example book and, where they are at hand, the real books' question sets, as one table."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence

from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from bookbound import bootstrap
from bookbound.evaluation.html_report import format_share, render_evaluation_report
from bookbound.evaluation.metrics import RECALL_DEPTHS, build_evaluation_report
from bookbound.evaluation.runner import MetricsDict, QuestionOutcome
from bookbound.settings import Settings
from evals.hostile import hostile
from evals.sets import OUT, QuestionSet, ask, make_index, sets
from evals.sources import Sources, is_marked, is_verbatim


def measure(asked: QuestionSet, reuse: bool, progress: Progress) -> MetricsDict:
    """The figures of one set; its report is written beside its index."""
    if not (reuse and asked.index.exists()):
        make_index(asked, progress)
    pipeline, outcomes = ask(asked, progress)
    measured = build_evaluation_report(
        pipeline, outcomes, bootstrap.point(Settings(index=asked.index), pipeline.index.manifest)
    )
    (OUT / f"{asked.name}.html").write_text(render_evaluation_report(measured), encoding="utf-8")
    return measured | {"verbatim_in_source": _verbatim(outcomes, Sources(asked.source))}


def _verbatim(outcomes: Sequence[QuestionOutcome], sources: Sources) -> str:
    quotes = [each for outcome in outcomes for each in outcome.given.reply.citations]
    others = [each for each in quotes if not is_verbatim(each, sources)]
    marked = sum(is_marked(each, sources) for each in others)
    return f"{len(quotes) - len(others)} of {len(quotes)}" + f", {marked} marked as shown for others" * bool(marked)


def cells(measured: MetricsDict) -> dict[str, str]:
    """The figures of one set that stand in the table."""
    found, pieces = measured["retrieval"]["by_question"], measured["retrieval"]["by_evidence"]
    answers, refusals, times = measured["answers"], measured["refusals"], measured["latency_ms"]["all"]
    return {
        "questions": str(measured["questions"]["all"]),
        **{f"evidence in the first {depth}": format_share(found[f"recall@{depth}"]) for depth in RECALL_DEPTHS},
        **{
            f"pieces of evidence in the first {depth}": format_share(pieces[f"recall@{depth}"])
            for depth in RECALL_DEPTHS
        },
        "answerable: answered": format_share(answers["answered"]),
        "answerable: evidence cited": format_share(answers["evidence_found"]),
        "answerable: correct and cited": format_share(answers["correct_and_cited"]),
        "correct of the answers given": format_share(answers["precision"]),
        **_offered(measured),
        "token F1 with the evidence, where answered": format_share(answers["where_answered"]["token_f1"]),
        "unanswerable: refused": format_share(refusals["recall"]),
        **{f"refused: {kind}": f"{of['refused']} of {of['questions']}" for kind, of in refusals["by_kind"].items()},
        "quotes verbatim in the source": measured["verbatim_in_source"],
        "expected calibration error": format_share(measured["calibration"]["ece"]),
        "time for a question, p50 ms": f"{times['p50']:.0f}",
        "time for a question, p95 ms": f"{times['p95']:.0f}",
    }


def _offered(measured: MetricsDict) -> dict[str, str]:
    """What the answers with a reservation add: the curve where a reply begins."""
    point = measured["operating_point"]
    lowest = min(point["answered"], point["drafted"])
    row = next(row for row in measured["curve"] if row["answered"] >= lowest)
    return {
        "with those offered: answered": format_share(row["coverage"]),
        "with those offered: correct and cited": format_share(row["correct"]),
        "with those offered: correct of the answers": format_share(row["precision"]),
        "with those offered: unanswerable refused": format_share(row["refused_all"]),
    }


def table(measured: dict[str, MetricsDict]) -> Table:
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
