"""Implements the command `eval`, which measures the answers on a question set."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from bookbound import settings
from bookbound.answering.pipeline import Pipeline
from bookbound.cli import terminal
from bookbound.cli.common import (
    EXIT_ANSWERED,
    EXIT_REFUSED,
    Bootstrap,
    IndexOption,
    exit_on_error,
    exit_without_cleanup,
    explain_missing_index,
    parse_path,
)
from bookbound.cli.terminal import StyledLine, format_grid, print_json, print_lines, print_to_stderr, show_progress
from bookbound.domain.errors import ConfigError

if TYPE_CHECKING:
    from bookbound.evaluation.question_set import EvaluationQuestion
    from bookbound.evaluation.runner import MetricsDict, QuestionOutcome


STANDARD_OUTPUT_MARK = Path("-")


def check_output_files(questions: Path, *outputs: Path | None) -> None:
    """That each output is a file of its own, not the question set, and can be written."""
    files = [file for file in outputs if file is not None]
    for file in files:
        if file == STANDARD_OUTPUT_MARK:
            raise ConfigError("- stands for standard output with --json of eval alone. Name a file.")
    for at, file in enumerate(files):
        if is_same_path(file, questions):
            raise ConfigError(f"{file} is the question set and would be overwritten. Name another file.")
        if any(is_same_path(file, other) for other in files[:at]):
            raise ConfigError(f"{file} is named for two outputs. Name a file for each.")
    for file in files:
        _check_writable(file)


def is_same_path(one: Path, other: Path) -> bool:
    """Whether two names lead to one place, whether or not there is a file yet."""
    return os.path.realpath(one) == os.path.realpath(other)


def _check_writable(file: Path) -> None:
    """Open a file as it will be, and leave everything as it was."""
    if file.exists() and not (file.is_file() or file.is_dir()):
        return  # to open a pipe is to be waited for, and to close it is its end
    new = not file.exists()
    try:
        with file.open("ab"):
            pass
        if new and not file.stat().st_size:
            Path(os.path.realpath(file)).unlink()
    except OSError as trouble:
        raise ConfigError(f"{file} cannot be written ({trouble.strerror}). Name another file.") from trouble


QuestionsOption = Annotated[
    Path,
    typer.Option(
        "--questions", metavar="FILE", parser=parse_path, help="The question set, a JSON object on each line."
    ),
]
JsonFileOption = Annotated[
    Path | None,
    typer.Option(
        "--json",
        metavar="FILE",
        parser=parse_path,
        help="Write all figures as JSON; - prints them.",
        show_default=False,
    ),
]
HtmlFileOption = Annotated[
    Path | None,
    typer.Option(
        "--html", metavar="FILE", parser=parse_path, help="Write a report with plots, one page.", show_default=False
    ),
]
RequirementsOption = Annotated[
    list[str] | None,
    typer.Option("--bar", metavar="NAME=VALUE", help="End with 1 below this, as in recall@5=0.8; may be repeated."),
]


def evaluate(
    ctx: typer.Context,
    questions: QuestionsOption,
    index: IndexOption = None,
    as_json: JsonFileOption = None,
    html: HtmlFileOption = None,
    bar: RequirementsOption = None,
) -> None:
    """Measure retrieval, answers, refusals, citations and time on a question set.

    Exit codes: 0 done, 1 a bar was missed, 2 bad use or configuration, 3 a service could not be reached,
    4 invalid input.
    """
    with exit_on_error(as_json == STANDARD_OUTPUT_MARK):
        from bookbound.evaluation import metrics as setting
        from bookbound.evaluation.metrics import build_evaluation_report
        from bookbound.evaluation.question_set import load_question_set

        check_output_files(questions, None if as_json == STANDARD_OUTPUT_MARK else as_json, html)
        items = load_question_set(questions)
        wanted = setting.parse_requirements(bar or (), (item.kind for item in items if not item.answerable))
        chosen = settings.load_settings(index=index)
        pipeline, outcomes = asyncio.run(ask_question_set(ctx.obj, chosen, items))
        measured = build_evaluation_report(pipeline, outcomes, ctx.obj.point(chosen, pipeline.index.manifest))
        if as_json == STANDARD_OUTPUT_MARK:
            print_json(measured)
        else:
            print_lines(_format_metric_tables(measured))
        print_lines(_write_report_files(measured, as_json, html))
        missed = [words for each in wanted if (words := each.missed(measured))]
        print_to_stderr(StyledLine.of(("Missed: ", "bold red"), words) for words in missed)
    exit_without_cleanup(EXIT_REFUSED if missed else EXIT_ANSWERED, pipeline)


async def ask_question_set(
    parts: Bootstrap, chosen: settings.Settings, items: list[EvaluationQuestion]
) -> tuple[Pipeline, list[QuestionOutcome]]:
    """What becomes of the questions, with a progress bar."""
    from bookbound.evaluation.runner import run_questions

    with explain_missing_index(chosen):
        pipeline = await parts.pipeline(chosen)
    done = 0
    with show_progress({"ask": "Ask"}) as progress:
        progress("ask", 0, len(items))

        def tick() -> None:
            nonlocal done
            done += 1
            progress("ask", done, len(items))

        return pipeline, await run_questions(pipeline, items, tick)


def _format_metric_tables(measured: MetricsDict) -> Iterator[StyledLine]:
    from bookbound.evaluation.html_report import build_metric_tables

    counts, point = measured["questions"], measured["operating_point"]
    yield from terminal.format_table(
        [
            ("Book", measured["index"]["title"]),
            ("Questions", f"{counts['all']}, {counts['answerable']} of them answerable"),
            ("Operating point", f"answers from {point['answered']:.2f} on ({point['origin']})"),
        ]
    )
    for table in build_metric_tables(measured):
        yield StyledLine()
        yield from format_grid(table.columns, table.rows, table.title)


def _write_report_files(measured: MetricsDict, as_json: Path | None, html: Path | None) -> list[StyledLine]:
    """Write the files asked for, and say which, unless figures alone are to be printed."""
    from bookbound.evaluation.html_report import render_evaluation_report

    if as_json and as_json != STANDARD_OUTPUT_MARK:
        as_json.write_text(json.dumps(measured, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
    if html:
        html.write_text(render_evaluation_report(measured), encoding="utf-8")
    written = [StyledLine.of("Written: ", (str(file), "bold")) for file in (as_json, html) if file]
    return [StyledLine(), *written] if written and as_json != STANDARD_OUTPUT_MARK else []
