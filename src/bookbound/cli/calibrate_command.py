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

from bookbound.answering.operating_point import OPERATING_POINT_FILE, Calibration, OperatingPoint, save_calibration
from bookbound.answering.pipeline import Pipeline
from bookbound.cli.eval_command import QuestionsOption, ask_question_set, check_output_files, is_same_path
from bookbound.cli.exit_codes import EXIT_ANSWERED, EXIT_REFUSED, exit_on_error, exit_without_cleanup
from bookbound.cli.options import IndexOption, parse_path
from bookbound.cli.terminal import (
    BLANK_LINE,
    StyledLine,
    format_count,
    format_grid,
    print_lines,
    print_to_stderr,
    print_warning,
    styled,
)
from bookbound.settings import ENVIRONMENT_PREFIX, SETTINGS_FILE, Settings, load_settings

if TYPE_CHECKING:
    from bookbound.evaluation.runner import QuestionOutcome
    from bookbound.evaluation.threshold_curve import CurvePoint

MIN_QUESTIONS = 30
"""With fewer questions, the choice is noise."""
BAR_WIDTH_CHARS, SHOWN_ROW_STEP = 20, 5


def _validate_share(value: float) -> float:
    if math.isnan(value):
        raise typer.BadParameter("Use a number from 0 to 1.")
    return value


MinPrecisionOption = Annotated[
    float,
    typer.Option(
        "--min-precision",
        metavar="SHARE",
        min=0,
        max=1,
        callback=_validate_share,
        help="The share of answers that should be right.",
    ),
]
OutputFileOption = Annotated[
    Path | None,
    typer.Option(
        "--output-file",
        metavar="FILE",
        parser=parse_path,
        help="Write the choice here, not next to the index.",
    ),
]
ForceCalibrationOption = Annotated[
    bool, typer.Option("--force", help="Write the choice even if the set has no unanswerable questions.")
]


def calibrate(
    ctx: typer.Context,
    questions: QuestionsOption,
    index: IndexOption = None,
    min_precision: MinPrecisionOption = 0.9,
    output_file: OutputFileOption = None,
    force: ForceCalibrationOption = False,
) -> None:
    """Choose the answer threshold for this book, and store it next to the index.

    The lowest threshold that reaches the precision answers the most questions. The next ask and serve use it.

    Exit codes: 0 done, 1 nothing is written (no threshold reaches the precision, or refusals could not be measured),
    2 bad use or configuration, 3 a service could not be reached, 4 invalid input.
    """
    with exit_on_error():
        from bookbound.evaluation.question_set import load_question_set
        from bookbound.evaluation.threshold_curve import build_threshold_curve, choose_threshold

        settings = ctx.obj.build_book_settings(load_settings(index=index))
        own_file = None if settings.qdrant_url else settings.index / OPERATING_POINT_FILE
        if output_file and own_file and is_same_path(output_file, own_file):
            output_file = None
        # Creating the file next to the index, even for a moment, would let a running server read it while it is empty.
        check_output_files(questions, output_file or (own_file if own_file and own_file.is_file() else None))
        items = load_question_set(questions)
        # A set threshold keeps a damaged file next to the index from being read, so that it can be replaced.
        pipeline, outcomes = asyncio.run(ask_question_set(ctx.obj, replace(settings, answer_threshold=0.0), items))
        measures_refusal = not all(item.answerable for item in items)
        _warn_weak_set(len(items), measures_refusal)
        rows = build_threshold_curve(outcomes)
        choice = choose_threshold(rows, min_precision)
        print_lines([*_format_curve(rows, choice), BLANK_LINE])
        writes = choice is not None and (force or measures_refusal)
        if choice is None:
            print_to_stderr(_describe_unreached_precision(rows, min_precision))
        elif not writes:
            print_to_stderr(f"Nothing was written. To use the threshold {choice.threshold:.2f} anyway, add --force.")
        else:
            chosen_settings = replace(settings, answer_threshold=choice.threshold)
            chosen = ctx.obj.load_operating_point(chosen_settings, pipeline.book.manifest)
            found = _build_calibration(choice, min_precision, len(items), pipeline, chosen.model_fingerprint)
            saved = _save_calibration(found, rows, settings, output_file)
            print_lines([*saved, _describe_unsure(chosen.point, outcomes)])
    exit_without_cleanup(EXIT_ANSWERED if writes else EXIT_REFUSED)


def _warn_weak_set(size: int, measures_refusal: bool) -> None:
    if size < MIN_QUESTIONS:
        count = format_count(size, "question")
        print_warning(f"The set has {count}: with fewer than {MIN_QUESTIONS}, the choice depends on chance.")
    if not measures_refusal:
        print_warning("The set has no unanswerable questions, so refusals cannot be measured. Add some.")


def _build_calibration(
    choice: CurvePoint, wanted: float, questions: int, pipeline: Pipeline, model_fingerprint: str
) -> Calibration:
    manifest = pipeline.book.manifest
    return Calibration(
        answer_threshold=choice.threshold,
        model_fingerprint=model_fingerprint,
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
    found: Calibration, rows: Sequence[CurvePoint], settings: Settings, output_file: Path | None
) -> Iterator[StyledLine]:
    """Store the choice; the lines say what was chosen and how it takes effect."""
    threshold = f"{found.answer_threshold:.2f}"
    yield styled(
        "Answer threshold ",
        (threshold, "bold"),
        f": {found.coverage:.0%} of the answerable questions are answered, and {found.precision:.0%} of the answers "
        "are right.",
    )
    file = output_file or (None if settings.qdrant_url else settings.index / OPERATING_POINT_FILE)
    if file:
        save_calibration(found, [row.to_json() for row in rows], file)
        yield styled("Written: ", (str(file), "bold"))
    if output_file or settings.qdrant_url:
        reason = (
            "An index on a Qdrant server has no calibration file"
            if settings.qdrant_url
            else "The file is not next to the index"
        )
        yield styled(
            f"{reason}. To use the threshold, set answer_threshold = {threshold} in {SETTINGS_FILE} "
            f"or {ENVIRONMENT_PREFIX}ANSWER_THRESHOLD={threshold} in the environment."
        )
    elif settings.answer_threshold is not None:
        yield styled(f"The setting answer_threshold = {settings.answer_threshold:.2f} overrides this choice.")


def _describe_unsure(point: OperatingPoint, outcomes: Sequence[QuestionOutcome]) -> StyledLine:
    """The share of the questions with an unsure reply at the chosen threshold."""
    possible = [each.probability for each in outcomes if each.result_without_threshold.is_answered]
    unsure = sum(point.unsure_threshold <= probability < point.answer_threshold for probability in possible)
    return styled(
        f"Unsure replies from {point.unsure_threshold:.2f} on: {unsure / len(outcomes):.0%} of all questions."
    )


def _describe_unreached_precision(rows: Sequence[CurvePoint], wanted: float) -> str:
    from bookbound.evaluation.threshold_curve import find_most_precise_threshold

    best = find_most_precise_threshold(rows)
    if best is None:
        return "No question of the set is answered at any threshold, so nothing was written."
    return (
        f"No threshold makes {wanted:.0%} of the answers right, so nothing was written. The best is "
        f"{best.precision:.1%} at the threshold {best.threshold:.2f}, which answers "
        f"{best.coverage:.0%} of the answerable questions."
    )


def _format_curve(rows: Sequence[CurvePoint], choice: CurvePoint | None) -> Iterator[StyledLine]:
    """Some rows of the curve, with a bar on a terminal, and what the choice refuses."""
    from bookbound.evaluation.html_report import format_share

    has_bars = sys.stdout.isatty()
    cells = [
        (
            f"{row.threshold:.2f}" + " *" * (row is choice),
            str(row.answer_count),
            format_share(row.coverage),
            format_share(row.precision),
            format_share(row.refused_all),
            *([_draw_bar(row.precision or 0.0)] if has_bars else []),
        )
        for i, row in enumerate(rows)
        if i % SHOWN_ROW_STEP == 0 or row is choice
    ]
    yield styled(("What each answer threshold gives, with a mark (*) at the choice:", "dim"))
    yield from format_grid(("threshold", "answers", "coverage", "precision", "refused", *([""] * has_bars)), cells)
    if choice and choice.refused:
        yield BLANK_LINE
        refused = [(kind, format_share(share)) for kind, share in choice.refused.items()]
        yield from format_grid(("unanswerable", f"refused at {choice.threshold:.2f}"), refused)


def _draw_bar(share: float) -> str:
    return ("█" * round(share * BAR_WIDTH_CHARS)).ljust(BAR_WIDTH_CHARS, "·")
