"""`python -m lab.measure.answers`: asks every question set, and prints its figures and the previous version's."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence

from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from bookbound import bootstrap
from bookbound.domain.judgement import ReplyStatus
from bookbound.evaluation import MetricsDict
from bookbound.evaluation.html_report import format_share, render_evaluation_report
from bookbound.evaluation.metrics import RECALL_DEPTHS, build_evaluation_report
from bookbound.evaluation.runner import QuestionOutcome
from bookbound.settings import Settings
from lab.measure.hostile_cases import load_cases
from lab.measure.hostile_model import build_hostile_table
from lab.measure.previous_version import (
    ALL_DEVELOPMENT,
    build_comparison_table,
    format_figures,
    summarize,
    summarize_development,
)
from lab.measure.question_sets import OUT, QuestionSet, ask_question_set, index_question_set, list_question_sets
from tests.answering.verbatim_quotes import Sources, is_verbatim, is_verbatim_or_substituted

REPLY_ROWS = [(group, status.value) for group in ("answerable", "unanswerable") for status in ReplyStatus]


def evaluate(question_set: QuestionSet, reuse: bool, progress: Progress) -> MetricsDict:
    """The metrics of one set; its HTML report goes next to its index."""
    if not (reuse and question_set.index.exists()):
        index_question_set(question_set, progress)
    pipeline, outcomes = ask_question_set(question_set, progress)
    metrics = build_evaluation_report(
        pipeline, outcomes, bootstrap.load_operating_point(Settings(index=question_set.index), pipeline.book.manifest)
    )
    (OUT / f"{question_set.name}.html").write_text(render_evaluation_report(metrics), encoding="utf-8")
    return metrics | {"verbatim_in_source": _count_verbatim(outcomes, Sources(question_set.source))}


def _count_verbatim(outcomes: Sequence[QuestionOutcome], sources: Sources) -> str:
    quotes = [each for outcome in outcomes for each in outcome.result.reply.citations]
    others = [each for each in quotes if not is_verbatim(each, sources)]
    substituted = sum(is_verbatim_or_substituted(each, sources) for each in others)
    count = f"{len(quotes) - len(others)} of {len(quotes)}"
    return f"{count}, {substituted} shown for other source text" if substituted else count


def build_column(metrics: MetricsDict) -> dict[str, str]:
    """The cells of one set in the table."""
    by_question, by_evidence = metrics["retrieval"]["by_question"], metrics["retrieval"]["by_evidence"]
    answers, replies, times = metrics["answers"], metrics["replies"], metrics["latency_ms"]["all"]
    return {
        "questions": str(metrics["questions"]["all"]),
        **{f"evidence in the first {depth}": format_share(by_question[f"recall@{depth}"]) for depth in RECALL_DEPTHS},
        **{f"quotes in the first {depth}": format_share(by_evidence[f"recall@{depth}"]) for depth in RECALL_DEPTHS},
        "answerable: evidence cited": format_share(answers["evidence_found"]),
        **format_figures(summarize([metrics])),
        "answered: token F1 with the evidence": format_share(answers["where_answered"]["token_f1"]),
        **{f"{group}: {status}": format_share(replies[group]["shares"][status]) for group, status in REPLY_ROWS},
        **{
            f"not answered: {kind}": f"{each['asked'] - each['answered']} of {each['asked']}"
            for kind, each in replies["by_type"].items()
        },
        "unsure: evidence in the closest": format_share(replies["closest_with_evidence"]),
        "quotes verbatim in the source": metrics["verbatim_in_source"],
        "expected calibration error": format_share(metrics["calibration"]["ece"]),
        "time for a question, p50 ms": f"{times['p50']:.0f}",
        "time for a question, p95 ms": f"{times['p95']:.0f}",
    }


def build_development_column(metrics: dict[str, MetricsDict]) -> dict[str, dict[str, str]]:
    """One column with all development questions together, if there are several sets."""
    figures = summarize_development(metrics)
    if figures is None:
        return {}
    return {ALL_DEVELOPMENT: format_figures(figures)}


def build_table(metrics: dict[str, MetricsDict]) -> Table:
    """One column for each set."""
    columns = {name: build_column(each) for name, each in metrics.items()}
    table = Table("measure", title="Bookbound on its question sets")
    columns |= build_development_column(metrics)
    for name in columns:
        table.add_column(name, justify="right")
    for row in dict.fromkeys(row for column in columns.values() for row in column):
        table.add_row(row, *(column.get(row, "") for column in columns.values()))
    return table


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", help="evaluate only this set")
    parser.add_argument("--reuse", action="store_true", help="use the indexes of the last run")
    options = parser.parse_args()
    OUT.mkdir(exist_ok=True)
    with Progress(console=Console(stderr=True)) as progress:
        chosen = [each for each in list_question_sets() if options.only in (None, each.name)]
        metrics = {each.name: evaluate(each, options.reuse, progress) for each in chosen}
    Console(width=110).print(build_table(metrics))
    Console(width=110).print(build_comparison_table(metrics))
    Console(width=110).print(build_hostile_table(load_cases()))
    (OUT / "summary.json").write_text(json.dumps(metrics, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
