"""Implements the command `calibrate`, which chooses the answer threshold for a book."""

from __future__ import annotations

import asyncio
import math
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from bookbound import settings
from bookbound.answering.operating_point import OPERATING_POINT_FILE, Calibration, save_calibration
from bookbound.answering.pipeline import Pipeline
from bookbound.cli import terminal
from bookbound.cli.common import (
    EXIT_ANSWERED,
    EXIT_REFUSED,
    IndexOption,
    exit_on_error,
    exit_without_cleanup,
    parse_path,
)
from bookbound.cli.eval_command import QuestionsOption, ask_question_set, check_output_files, is_same_path
from bookbound.cli.terminal import StyledLine, format_grid, print_lines, print_to_stderr

if TYPE_CHECKING:
    from bookbound.evaluation.question_set import EvaluationQuestion
    from bookbound.evaluation.threshold_curve import CurvePoint


def _validate_share(value: float) -> float:
    if math.isnan(value):
        raise typer.BadParameter("It is no number. Name a share from 0 to 1.")
    return value


PrecisionOption = Annotated[
    float,
    typer.Option(
        "--precision",
        metavar="SHARE",
        min=0,
        max=1,
        callback=_validate_share,
        help="How many of the answers given should be right.",
    ),
]
OutputFileOption = Annotated[
    Path | None,
    typer.Option(
        "--out",
        metavar="FILE",
        parser=parse_path,
        help="Write the choice here, and not beside the index.",
        show_default=False,
    ),
]
ForceCalibrationOption = Annotated[
    bool, typer.Option("--force", help="Write it also where refusal could not be measured.")
]
MIN_QUESTIONS, BAR_WIDTH_CHARS, SHOWN_ROW_STEP = 30, 20, 5
"""Under how many questions a choice is noise; how wide a full bar is; each how many rows of the curve one is shown."""


def calibrate(
    ctx: typer.Context,
    questions: QuestionsOption,
    index: IndexOption = None,
    precision: PrecisionOption = 0.9,
    out: OutputFileOption = None,
    force: ForceCalibrationOption = False,
) -> None:
    """Choose from which probability on this book answers, and keep it beside the index.

    It is the lowest that reaches the precision, so the one that answers most. The next ask and serve use it.

    Exit codes: 0 done, 1 nothing was written: no threshold reaches it, or refusal could not be measured,
    2 bad use or configuration, 3 a service could not be reached, 4 invalid input.
    """
    with exit_on_error():
        from bookbound.evaluation.question_set import load_question_set
        from bookbound.evaluation.threshold_curve import build_threshold_curve, choose_threshold

        chosen = ctx.obj.placed(settings.load_settings(index=index))
        out = _find_external_output(out, chosen)
        own = chosen.index / OPERATING_POINT_FILE
        # A file that is not there yet is not tried beside the index, where whoever asks just then would read it empty.
        check_output_files(questions, out or (own if own.is_file() and not chosen.qdrant_url else None))
        items = load_question_set(questions)
        # With a setting nothing beside the index counts, so that a file that is damaged there can be written anew.
        dared = replace(chosen, answered=0.0)
        pipeline, outcomes = asyncio.run(ask_question_set(ctx.obj, dared, items))
        print_to_stderr(_build_question_set_warnings(items))
        rows = build_threshold_curve(outcomes)
        choice = choose_threshold(rows, precision)
        writes = choice is not None and (force or _has_unanswerable_questions(items))
        print_lines(_format_curve(rows, choice))
        print_lines([StyledLine()])
        if choice is None:
            print_to_stderr([_describe_unreached_precision(rows, precision)])
        elif not writes:
            print_to_stderr(
                [
                    StyledLine.of(
                        f"Nothing was written. To answer from {choice.answered:.2f} on all the same, add --force."
                    )
                ]
            )
        else:
            judge = ctx.obj.point(dared, pipeline.index.manifest).judge
            print_lines(
                _save_calibration(_build_calibration(choice, precision, len(items), pipeline, judge), rows, chosen, out)
            )
    exit_without_cleanup(EXIT_ANSWERED if writes else EXIT_REFUSED, pipeline)


def _find_external_output(out: Path | None, chosen: settings.Settings) -> Path | None:
    """Where to write instead of beside the index, if anywhere."""
    beside = out and not chosen.qdrant_url and is_same_path(out, chosen.index / OPERATING_POINT_FILE)
    return None if beside else out


def _has_unanswerable_questions(items: Sequence[EvaluationQuestion]) -> bool:
    return not all(item.answerable for item in items)


def _build_question_set_warnings(items: Sequence[EvaluationQuestion]) -> Iterator[StyledLine]:
    """Why not to trust what is chosen on this set."""
    if len(items) < MIN_QUESTIONS:
        told_of = terminal.format_count(len(items), "question")
        yield terminal.format_warning(
            f"The set has {told_of}: with fewer than {MIN_QUESTIONS}, the choice rests on chance."
        )
    if not _has_unanswerable_questions(items):
        yield terminal.format_warning(
            "The set has no unanswerable questions: refusal cannot be measured on it. Add some."
        )


def _build_calibration(
    choice: CurvePoint, wanted: float, questions: int, pipeline: Pipeline, judge: str
) -> Calibration:
    manifest = pipeline.index.manifest
    return Calibration(
        answered=choice.answered,
        judge=judge,
        questions=questions,
        wanted=wanted,
        precision=round(choice.precision or 0.0, 4),
        coverage=round(choice.coverage or 0.0, 4),
        generation=manifest.generation,
        created=datetime.now(UTC).isoformat(timespec="seconds"),
        title=manifest.title,
        kind=manifest.kind,
    )


def _save_calibration(
    found: Calibration, rows: Sequence[CurvePoint], chosen: settings.Settings, out: Path | None
) -> Iterator[StyledLine]:
    """Say what was chosen, write it where it belongs, and say how it comes into force."""
    yield StyledLine.of(
        "Answer from ",
        (f"{found.answered:.2f}", "bold"),
        f" on: {found.coverage:.0%} of the answerable questions are answered, and {found.precision:.0%} of the answers "
        "are right.",
    )
    file = out or (None if chosen.qdrant_url else chosen.index / OPERATING_POINT_FILE)
    if file:
        save_calibration(found, [row.plain() for row in rows], file)
        yield StyledLine.of("Written: ", (str(file), "bold"))
    if out or chosen.qdrant_url:
        where = "A Qdrant server keeps no operating point" if chosen.qdrant_url else "It is not beside the index"
        yield StyledLine.of(
            f"{where}: to answer with it, set answered = {found.answered:.2f} in {settings.SETTINGS_FILE} "
            f"or {settings.ENVIRONMENT_PREFIX}ANSWERED={found.answered:.2f} in the environment."
        )
    elif chosen.answered is not None:
        yield StyledLine.of(f"The setting answered = {chosen.answered:.2f} overrides it as long as it is there.")


def _describe_unreached_precision(rows: Sequence[CurvePoint], wanted: float) -> StyledLine:
    from bookbound.evaluation.threshold_curve import find_most_precise_threshold

    most = find_most_precise_threshold(rows)
    if most is None:
        return StyledLine.of("No question of the set is answered at any threshold, so nothing was written.")
    return StyledLine.of(
        f"No threshold makes {wanted:.0%} of the answers right, so nothing was written. The best is "
        f"{most.precision:.1%}, from {most.answered:.2f} on, where {most.coverage:.0%} of the answerable are answered."
    )


def _format_curve(rows: Sequence[CurvePoint], choice: CurvePoint | None) -> Iterator[StyledLine]:
    """The curve in some of its rows, on a terminal with a bar of the precision, and what the chosen one refuses."""
    from bookbound.evaluation.html_report import format_share

    drawn = sys.stdout.isatty()
    cells = [
        (
            f"{row.answered:.2f}" + " *" * (row is choice),
            str(row.given),
            format_share(row.coverage),
            format_share(row.precision),
            format_share(row.refused_all),
            *([_draw_bar(row.precision)] if drawn else []),
        )
        for i, row in enumerate(rows)
        if i % SHOWN_ROW_STEP == 0 or row is choice
    ]
    yield StyledLine.of(("What would come of answering from each probability on:", "dim"))
    yield from format_grid(("from", "answers", "coverage", "precision", "refused", *([""] if drawn else [])), cells)
    if choice and choice.refused:
        yield StyledLine()
        refused = [(kind, format_share(part)) for kind, part in choice.refused.items()]
        yield from format_grid(("unanswerable", f"refused at {choice.answered:.2f}"), refused)


def _draw_bar(precision: float | None) -> str:
    return ("█" * round((precision or 0.0) * BAR_WIDTH_CHARS)).ljust(BAR_WIDTH_CHARS, "·")
