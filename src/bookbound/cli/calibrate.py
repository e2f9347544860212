"""Choose the operating point for a book by a question set."""

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
from bookbound.ask import Pipeline
from bookbound.calibration import FILE, Calibrated, keep
from bookbound.cli import show
from bookbound.cli.eval import Questions, asked
from bookbound.cli.grid import grid
from bookbound.cli.outcome import ANSWERED, REFUSED, leave, told
from bookbound.cli.outputs import ready, same
from bookbound.cli.parts import IndexFolder
from bookbound.cli.place import named
from bookbound.cli.screen import Line, note, put

if TYPE_CHECKING:
    from bookbound.measure.curve import Row
    from bookbound.measure.questions import Item


def _share(value: float) -> float:
    if math.isnan(value):
        raise typer.BadParameter("It is no number. Name a share from 0 to 1.")
    return value


Precision = Annotated[
    float,
    typer.Option(
        "--precision",
        metavar="SHARE",
        min=0,
        max=1,
        callback=_share,
        help="How many of the answers given should be right.",
    ),
]
Out = Annotated[
    Path | None,
    typer.Option(
        "--out",
        metavar="FILE",
        parser=named,
        help="Write the choice here, and not beside the index.",
        show_default=False,
    ),
]
Force = Annotated[bool, typer.Option("--force", help="Write it also where refusal could not be measured.")]
FEW, SKETCH, SHOWN = 30, 20, 5
"""Under how many questions a choice is noise; how wide a full bar is; each how many rows of the curve one is shown."""


def calibrate(
    ctx: typer.Context,
    questions: Questions,
    index: IndexFolder = None,
    precision: Precision = 0.9,
    out: Out = None,
    force: Force = False,
) -> None:
    """Choose from which probability on this book answers, and keep it beside the index.

    It is the lowest that reaches the precision, so the one that answers most. The next ask and serve use it.

    Exit codes: 0 done, 1 nothing was written: no threshold reaches it, or refusal could not be measured,
    2 bad use or configuration, 3 a service could not be reached, 4 invalid input.
    """
    with told():
        from bookbound.measure.curve import choose, curve
        from bookbound.measure.questions import load

        chosen = ctx.obj.placed(settings.load(index=index))
        out = _elsewhere(out, chosen)
        own = chosen.index / FILE
        # A file that is not there yet is not tried beside the index, where whoever asks just then would read it empty.
        ready(questions, out or (own if own.is_file() and not chosen.qdrant_url else None))
        items = load(questions)
        # With a setting nothing beside the index counts, so that a file that is damaged there can be written anew.
        dared = replace(chosen, answered=0.0)
        pipeline, outcomes = asyncio.run(asked(ctx.obj, dared, items))
        note(_doubts(items))
        rows = curve(outcomes)
        choice = choose(rows, precision)
        writes = choice is not None and (force or _measures_refusal(items))
        put(_sketch(rows, choice))
        put([Line()])
        if choice is None:
            note([_unreached(rows, precision)])
        elif not writes:
            note([Line.of(f"Nothing was written. To answer from {choice.answered:.2f} on all the same, add --force.")])
        else:
            judge = ctx.obj.point(dared, pipeline.index.manifest).judge
            put(_kept(_calibrated(choice, precision, len(items), pipeline, judge), rows, chosen, out))
    leave(ANSWERED if writes else REFUSED, pipeline)


def _elsewhere(out: Path | None, chosen: settings.Settings) -> Path | None:
    """Where to write instead of beside the index, if anywhere."""
    beside = out and not chosen.qdrant_url and same(out, chosen.index / FILE)
    return None if beside else out


def _measures_refusal(items: Sequence[Item]) -> bool:
    return not all(item.answerable for item in items)


def _doubts(items: Sequence[Item]) -> Iterator[Line]:
    """Why not to trust what is chosen on this set."""
    if len(items) < FEW:
        told_of = show.counted(len(items), "question")
        yield show.warning(f"The set has {told_of}: with fewer than {FEW}, the choice rests on chance.")
    if not _measures_refusal(items):
        yield show.warning("The set has no unanswerable questions: refusal cannot be measured on it. Add some.")


def _calibrated(choice: Row, wanted: float, questions: int, pipeline: Pipeline, judge: str) -> Calibrated:
    manifest = pipeline.index.manifest
    return Calibrated(
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


def _kept(found: Calibrated, rows: Sequence[Row], chosen: settings.Settings, out: Path | None) -> Iterator[Line]:
    """Say what was chosen, write it where it belongs, and say how it comes into force."""
    yield Line.of(
        "Answer from ",
        (f"{found.answered:.2f}", "bold"),
        f" on: {found.coverage:.0%} of the answerable questions are answered, and {found.precision:.0%} of the answers "
        "are right.",
    )
    file = out or (None if chosen.qdrant_url else chosen.index / FILE)
    if file:
        keep(found, [row.plain() for row in rows], file)
        yield Line.of("Written: ", (str(file), "bold"))
    if out or chosen.qdrant_url:
        where = "A Qdrant server keeps no operating point" if chosen.qdrant_url else "It is not beside the index"
        yield Line.of(
            f"{where}: to answer with it, set answered = {found.answered:.2f} in {settings.FILE} "
            f"or {settings.PREFIX}ANSWERED={found.answered:.2f} in the environment."
        )
    elif chosen.answered is not None:
        yield Line.of(f"The setting answered = {chosen.answered:.2f} overrides it as long as it is there.")


def _unreached(rows: Sequence[Row], wanted: float) -> Line:
    from bookbound.measure.curve import best

    most = best(rows)
    if most is None:
        return Line.of("No question of the set is answered at any threshold, so nothing was written.")
    return Line.of(
        f"No threshold makes {wanted:.0%} of the answers right, so nothing was written. The best is "
        f"{most.precision:.1%}, from {most.answered:.2f} on, where {most.coverage:.0%} of the answerable are answered."
    )


def _sketch(rows: Sequence[Row], choice: Row | None) -> Iterator[Line]:
    """The curve in some of its rows, on a terminal with a bar of the precision, and what the chosen one refuses."""
    from bookbound.measure.tables import share

    drawn = sys.stdout.isatty()
    cells = [
        (
            f"{row.answered:.2f}" + " *" * (row is choice),
            str(row.given),
            share(row.coverage),
            share(row.precision),
            share(row.refused_all),
            *([_bar(row.precision)] if drawn else []),
        )
        for i, row in enumerate(rows)
        if i % SHOWN == 0 or row is choice
    ]
    yield Line.of(("What would come of answering from each probability on:", "dim"))
    yield from grid(("from", "answers", "coverage", "precision", "refused", *([""] if drawn else [])), cells)
    if choice and choice.refused:
        yield Line()
        refused = [(kind, share(part)) for kind, part in choice.refused.items()]
        yield from grid(("unanswerable", f"refused at {choice.answered:.2f}"), refused)


def _bar(precision: float | None) -> str:
    return ("█" * round((precision or 0.0) * SKETCH)).ljust(SKETCH, "·")
