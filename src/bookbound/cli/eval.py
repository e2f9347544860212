"""Measure the answers on a question set."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from bookbound import settings
from bookbound.ask import Pipeline
from bookbound.cli import show
from bookbound.cli.grid import grid
from bookbound.cli.outcome import ANSWERED, REFUSED, leave, told
from bookbound.cli.outputs import STANDARD_OUTPUT, ready
from bookbound.cli.parts import IndexFolder, Parts
from bookbound.cli.place import indexed, named
from bookbound.cli.progress import bars
from bookbound.cli.screen import Line, note, put, put_json

if TYPE_CHECKING:
    from bookbound.measure.figures import Plain
    from bookbound.measure.outcome import Outcome
    from bookbound.measure.questions import Item

Questions = Annotated[
    Path,
    typer.Option("--questions", metavar="FILE", parser=named, help="The question set, a JSON object on each line."),
]
JsonFile = Annotated[
    Path | None,
    typer.Option(
        "--json", metavar="FILE", parser=named, help="Write all figures as JSON; - prints them.", show_default=False
    ),
]
HtmlFile = Annotated[
    Path | None,
    typer.Option(
        "--html", metavar="FILE", parser=named, help="Write a report with plots, one page.", show_default=False
    ),
]
Bars = Annotated[
    list[str] | None,
    typer.Option("--bar", metavar="NAME=VALUE", help="End with 1 below this, as in recall@5=0.8; may be repeated."),
]


def evaluate(
    ctx: typer.Context,
    questions: Questions,
    index: IndexFolder = None,
    as_json: JsonFile = None,
    html: HtmlFile = None,
    bar: Bars = None,
) -> None:
    """Measure retrieval, answers, refusals, citations and time on a question set.

    Exit codes: 0 done, 1 a bar was missed, 2 bad use or configuration, 3 a service could not be reached,
    4 invalid input.
    """
    with told(as_json == STANDARD_OUTPUT):
        from bookbound.measure import bars as setting
        from bookbound.measure.questions import load
        from bookbound.measure.report import report

        ready(questions, None if as_json == STANDARD_OUTPUT else as_json, html)
        items = load(questions)
        wanted = setting.bars(bar or (), (item.kind for item in items if not item.answerable))
        chosen = settings.load(index=index)
        pipeline, outcomes = asyncio.run(asked(ctx.obj, chosen, items))
        measured = report(pipeline, outcomes, ctx.obj.point(chosen, pipeline.index.manifest))
        if as_json == STANDARD_OUTPUT:
            put_json(measured)
        else:
            put(_tables(measured))
        put(_write(measured, as_json, html))
        missed = [words for each in wanted if (words := each.missed(measured))]
        note(Line.of(("Missed: ", "bold red"), words) for words in missed)
    leave(REFUSED if missed else ANSWERED, pipeline)


async def asked(parts: Parts, chosen: settings.Settings, items: list[Item]) -> tuple[Pipeline, list[Outcome]]:
    """What becomes of the questions, with a progress bar."""
    from bookbound.measure.outcome import put

    with indexed(chosen):
        pipeline = await parts.pipeline(chosen)
    done = 0
    with bars({"ask": "Ask"}) as progress:
        progress("ask", 0, len(items))

        def tick() -> None:
            nonlocal done
            done += 1
            progress("ask", done, len(items))

        return pipeline, await put(pipeline, items, tick)


def _tables(measured: Plain) -> Iterator[Line]:
    from bookbound.measure.tables import tables

    counts, point = measured["questions"], measured["operating_point"]
    yield from show.table(
        [
            ("Book", measured["index"]["title"]),
            ("Questions", f"{counts['all']}, {counts['answerable']} of them answerable"),
            ("Operating point", f"answers from {point['answered']:.2f} on ({point['origin']})"),
        ]
    )
    for table in tables(measured):
        yield Line()
        yield from grid(table.columns, table.rows, table.title)


def _write(measured: Plain, as_json: Path | None, html: Path | None) -> list[Line]:
    """Write the files asked for, and say which, unless figures alone are to be printed."""
    from bookbound.measure.page import page

    if as_json and as_json != STANDARD_OUTPUT:
        as_json.write_text(json.dumps(measured, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
    if html:
        html.write_text(page(measured), encoding="utf-8")
    written = [Line.of("Written: ", (str(file), "bold")) for file in (as_json, html) if file]
    return [Line(), *written] if written and as_json != STANDARD_OUTPUT else []
