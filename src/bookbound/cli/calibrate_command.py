"""Implements the command `calibrate`, which chooses the answer threshold for a book."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from bookbound.answering.deciding.operating_point import OPERATING_POINT_FILE, Calibration, save_calibration
from bookbound.cli import terminal
from bookbound.cli.book_access import Bootstrap, resolve_one_book
from bookbound.cli.eval_command import (
    QuestionsOption,
    ask_question_set,
    check_output_files,
    is_same_path,
    warn_unchecked_answers,
)
from bookbound.cli.exit_codes import EXIT_ANSWERED, EXIT_REFUSED, exit_on_error, exit_without_cleanup
from bookbound.cli.options import BookOption, EditionOption, IndexOption, file_option
from bookbound.domain.errors import ConfigError
from bookbound.domain.manifest import Manifest, utc_now
from bookbound.settings import ENVIRONMENT_PREFIX, SETTINGS_FILE, Settings, load_settings

if TYPE_CHECKING:
    from bookbound.evaluation.question_set import EvaluationQuestion
    from bookbound.evaluation.threshold_curve import CurvePoint, PointResult

MIN_QUESTIONS = 30
"""With fewer questions, the choice is noise."""


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
OutputFileOption = Annotated[Path | None, file_option("--output-file", "Write the choice here, not next to the index.")]
ForceCalibrationOption = Annotated[
    bool,
    typer.Option(
        "--force",
        help="Write the choice even if the set has no unanswerable questions or clearly fewer would be answered.",
    ),
]


def calibrate(
    ctx: typer.Context,
    questions: QuestionsOption,
    index: IndexOption = None,
    book: BookOption = None,
    edition: EditionOption = None,
    min_precision: MinPrecisionOption = 0.9,
    output_file: OutputFileOption = None,
    force: ForceCalibrationOption = False,
) -> None:
    """Choose the answer threshold for this book, and store it next to the index.

    The lowest threshold that reaches the precision answers the most questions. The next ask and serve use it.

    Exit codes: 0 done, 1 nothing is written (no threshold reaches the precision, refusals could not be measured, or
    clearly fewer questions would be answered), 2 bad use or configuration, 3 a service could not be reached,
    4 invalid input.
    """
    with exit_on_error():
        from bookbound.cli.calibration_view import describe_unreached_precision, format_comparison, format_curve
        from bookbound.evaluation.question_set import load_question_set

        settings = resolve_one_book(ctx.obj, load_settings(index=index, book=book, edition=edition))
        book_settings = ctx.obj.build_book_settings(settings)
        output_file = _check_output_file(questions, output_file, book_settings)
        items = load_question_set(questions)
        warn_unchecked_answers(items)
        result = _try_thresholds(ctx.obj, settings, items, min_precision)
        rows, choice = result.rows, result.choice
        comparison = format_comparison(result.in_use, result.new)
        terminal.print_lines([*format_curve(rows, choice), terminal.BLANK_LINE, *comparison, terminal.BLANK_LINE])
        objections = list(_find_objections(items, result))
        for warning in (*_warn_small_set(len(items)), *objections):
            terminal.print_warning(warning)
        writes = choice is not None and (force or not objections)
        if choice is None:
            terminal.print_to_stderr(describe_unreached_precision(rows, min_precision))
        elif not writes:
            terminal.print_to_stderr(
                f"Nothing was written. To use the threshold {choice.threshold:.2f} anyway, add --force."
            )
        else:
            found = _build_calibration(choice, min_precision, len(items), result)
            terminal.print_lines(_save_calibration(found, rows, book_settings, output_file))
    exit_without_cleanup(EXIT_ANSWERED if writes else EXIT_REFUSED)


class ThresholdTrial(NamedTuple):
    """What every threshold gives, the choice, and the results at the point in use and at the new one.

    Without a choice there is no new point. A point in use whose file is damaged has no result.
    """

    manifest: Manifest
    model_fingerprint: str
    rows: list[CurvePoint]
    choice: CurvePoint | None
    in_use: PointResult | None
    new: PointResult | None


def _try_thresholds(
    bootstrap: Bootstrap, settings: Settings, items: list[EvaluationQuestion], min_precision: float
) -> ThresholdTrial:
    from bookbound.evaluation.threshold_curve import build_threshold_curve, choose_threshold, evaluate_point

    # A set threshold keeps a damaged file next to the index from being read, so that it can be replaced.
    pipeline, outcomes = asyncio.run(ask_question_set(bootstrap, replace(settings, answer_threshold=0.0), items))
    manifest, rows = pipeline.book.manifest, build_threshold_curve(outcomes)
    choice = choose_threshold(rows, min_precision)
    default = bootstrap.load_operating_point(replace(settings, answer_threshold=1.0), manifest)
    in_use = new = None
    with suppress(ConfigError):
        in_use = evaluate_point(bootstrap.load_operating_point(settings, manifest).point, outcomes)
    if choice:
        new = evaluate_point(replace(default.point, answer_threshold=choice.threshold), outcomes)
    return ThresholdTrial(manifest, default.model_fingerprint, rows, choice, in_use, new)


def _check_output_file(questions: Path, output_file: Path | None, settings: Settings) -> Path | None:
    """Check that the choice can be written; returns the other file to write it to, if there is one."""
    own_file = None if settings.qdrant_url else settings.index / OPERATING_POINT_FILE
    if output_file and own_file and is_same_path(output_file, own_file):
        output_file = None
    # Creating the file next to the index, even for a moment, would let a running server read it while it is empty.
    check_output_files(questions, output_file or (own_file if own_file and own_file.is_file() else None))
    return output_file


def _warn_small_set(size: int) -> Iterator[str]:
    if size < MIN_QUESTIONS:
        count = terminal.format_count(size, "question")
        yield f"The set has {count}: with fewer than {MIN_QUESTIONS}, the choice depends on chance."


def _find_objections(items: Sequence[EvaluationQuestion], result: ThresholdTrial) -> Iterator[str]:
    """The reasons to write the choice only if the user insists."""
    from bookbound.cli.calibration_view import describe_coverage_loss

    if all(item.answerable for item in items):
        yield "The set has no unanswerable questions, so refusals cannot be measured. Add some."
    if result.in_use and result.new and result.new.loses_coverage(result.in_use):
        yield describe_coverage_loss(result.in_use, result.new)


def _build_calibration(choice: CurvePoint, wanted: float, questions: int, result: ThresholdTrial) -> Calibration:
    manifest = result.manifest
    return Calibration(
        answer_threshold=choice.threshold,
        model_fingerprint=result.model_fingerprint,
        questions=questions,
        wanted=wanted,
        precision=round(choice.precision or 0.0, 4),
        coverage=round(choice.coverage or 0.0, 4),
        generation=manifest.generation,
        created=utc_now(),
        title=manifest.title,
        kind=manifest.kind,
    )


def _save_calibration(
    found: Calibration, rows: Sequence[CurvePoint], settings: Settings, output_file: Path | None
) -> Iterator[terminal.StyledLine]:
    """Store the choice; the lines say what was chosen and how it takes effect."""
    threshold = f"{found.answer_threshold:.2f}"
    yield terminal.styled(
        "Answer threshold ",
        (threshold, "bold"),
        f": {found.coverage:.0%} of the answerable questions are answered, and {found.precision:.0%} of the answers "
        "are right.",
    )
    file = output_file or (None if settings.qdrant_url else settings.index / OPERATING_POINT_FILE)
    if file:
        save_calibration(found, [row.to_json() for row in rows], file)
        yield terminal.styled("Written: ", (str(file), "bold"))
    if output_file or settings.qdrant_url:
        reason = (
            "An index on a Qdrant server has no calibration file"
            if settings.qdrant_url
            else "The file is not next to the index"
        )
        yield terminal.styled(
            f"{reason}. To use the threshold, set answer_threshold = {threshold} in {SETTINGS_FILE} "
            f"or {ENVIRONMENT_PREFIX}ANSWER_THRESHOLD={threshold} in the environment."
        )
    elif settings.answer_threshold is not None:
        yield terminal.styled(f"The setting answer_threshold = {settings.answer_threshold:.2f} overrides this choice.")
