"""Implements the command `eval`, which measures the answers on a question set."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from bookbound.answering.pipeline import Pipeline
from bookbound.cli import terminal
from bookbound.cli.book_access import Bootstrap, format_operating_point, resolve_one_book
from bookbound.cli.exit_codes import EXIT_ANSWERED, EXIT_REFUSED, exit_on_error, exit_without_cleanup
from bookbound.cli.options import BookOption, EditionOption, IndexOption, file_option
from bookbound.domain.errors import ConfigError
from bookbound.settings import Settings, load_settings

if TYPE_CHECKING:
    from bookbound.evaluation import MetricsDict
    from bookbound.evaluation.question_set import EvaluationQuestion
    from bookbound.evaluation.runner import QuestionOutcome

STANDARD_OUTPUT_MARK = Path("-")
QuestionsOption = Annotated[Path, file_option("--questions", "The question set, one JSON object per line.")]
JsonFileOption = Annotated[
    Path | None, file_option("--json-file", "Write all figures to this file as JSON; - prints them.")
]
HtmlFileOption = Annotated[
    Path | None, file_option("--html-file", "Write a report with plots to this file, as one HTML page.")
]
RequirementsOption = Annotated[
    list[str] | None,
    typer.Option(
        "--require",
        metavar="NAME=VALUE",
        help="Exit with 1 if a figure misses this value, as in recall@5=0.8; may be repeated.",
    ),
]


def evaluate(
    ctx: typer.Context,
    questions: QuestionsOption,
    index: IndexOption = None,
    book: BookOption = None,
    edition: EditionOption = None,
    json_file: JsonFileOption = None,
    html_file: HtmlFileOption = None,
    require: RequirementsOption = None,
) -> None:
    """Measure retrieval, answers, refusals, citations and time on a question set.

    Exit codes: 0 done, 1 a requirement is missed, 2 bad use or configuration, 3 a service could not be reached,
    4 invalid input.
    """
    prints_json = json_file == STANDARD_OUTPUT_MARK
    with exit_on_error(prints_json):
        # Imported here, so that no other command waits for the evaluation.
        from bookbound.evaluation.metrics import build_evaluation_report, parse_requirements
        from bookbound.evaluation.question_set import load_question_set

        check_output_files(questions, None if prints_json else json_file, html_file)
        items = load_question_set(questions)
        warn_unchecked_answers(items)
        requirements = parse_requirements(require or (), (item.kind for item in items if not item.answerable))
        settings = resolve_one_book(ctx.obj, load_settings(index=index, book=book, edition=edition))
        pipeline, outcomes = asyncio.run(ask_question_set(ctx.obj, settings, items))
        point = ctx.obj.load_operating_point(settings, pipeline.book.manifest)
        metrics = build_evaluation_report(pipeline, outcomes, point)
        terminal.print_json(metrics) if prints_json else terminal.print_lines(_format_metrics(metrics))
        _write_files(metrics, None if prints_json else json_file, html_file, prints_json)
        missed = [message for each in requirements if (message := each.describe_violation(metrics))]
        for message in missed:
            terminal.print_to_stderr(("Missed: ", "bold red"), message)
    exit_without_cleanup(EXIT_REFUSED if missed else EXIT_ANSWERED)


def warn_unchecked_answers(items: list[EvaluationQuestion]) -> None:
    """Warn of answerable questions of which nothing says what a right answer is."""
    if number := sum(not item.is_checkable for item in items):
        unchecked = terminal.format_count(number, "answerable question")
        terminal.print_warning(
            f"Any answer counts as right for {unchecked} without `evidence` and `must_contain`. "
            "Add one of them to check the answers, too."
        )


def check_output_files(questions: Path, *outputs: Path | None) -> None:
    """Raise an error unless each output is its own file, not the question set, and writable."""
    files = [file for file in outputs if file is not None]
    for i, file in enumerate(files):
        if file == STANDARD_OUTPUT_MARK:
            raise ConfigError("Only --json-file of eval accepts - for standard output. Name a file.")
        if is_same_path(file, questions):
            raise ConfigError(f"{file} is the question set and would be overwritten. Name another file.")
        if any(is_same_path(file, other) for other in files[:i]):
            raise ConfigError(f"{file} is named for two outputs. Name a file for each.")
    # Only now, so that no file is touched if another one is refused.
    for file in files:
        _check_writable(file)


def is_same_path(one: Path, other: Path) -> bool:
    return os.path.realpath(one) == os.path.realpath(other)


def _check_writable(file: Path) -> None:
    """Open the file for writing, and leave everything as it was."""
    if file.exists() and not (file.is_file() or file.is_dir()):
        return  # opening a pipe blocks, and closing it ends it
    is_new = not file.exists()
    try:
        with file.open("ab"):
            pass
        if is_new and not file.stat().st_size:
            Path(os.path.realpath(file)).unlink()
    except OSError as error:
        raise ConfigError(f"{file} cannot be written ({error.strerror}). Name another file.") from error


async def ask_question_set(
    bootstrap: Bootstrap, settings: Settings, items: list[EvaluationQuestion]
) -> tuple[Pipeline, list[QuestionOutcome]]:
    """Ask all questions with a progress bar; returns the open pipeline and the outcomes."""
    from bookbound.evaluation.runner import run_questions

    pipeline = await bootstrap.open_pipeline(settings)
    done = count(1)
    with terminal.show_progress({"ask": "Ask"}) as progress:
        progress("ask", 0, len(items))
        return pipeline, await run_questions(pipeline, items, lambda: progress("ask", next(done), len(items)))


def _format_metrics(metrics: MetricsDict) -> Iterator[terminal.StyledLine]:
    from bookbound.evaluation.html_report import build_metric_tables

    counts, point = metrics["questions"], metrics["operating_point"]
    yield from terminal.format_table(
        [
            ("Book", metrics["index"]["title"]),
            ("Questions", f"{counts['all']}, {counts['answerable']} of them answerable"),
            *format_operating_point(point),
        ]
    )
    for table in build_metric_tables(metrics):
        yield terminal.BLANK_LINE
        yield from terminal.format_grid(table.columns, table.rows, table.title)


def _write_files(metrics: MetricsDict, json_file: Path | None, html_file: Path | None, is_quiet: bool) -> None:
    from bookbound.evaluation.html_report import render_evaluation_report

    if json_file:
        json_file.write_text(json.dumps(metrics, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
    if html_file:
        html_file.write_text(render_evaluation_report(metrics), encoding="utf-8")
    written = [file for file in (json_file, html_file) if file and not is_quiet]
    terminal.print_lines([terminal.BLANK_LINE] * bool(written))
    for file in written:
        terminal.print_line("Written: ", (str(file), "bold"))
