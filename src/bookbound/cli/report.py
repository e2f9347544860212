"""Tell the author what readers ask."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from bookbound import settings
from bookbound.cli import show
from bookbound.cli.ago import ago
from bookbound.cli.grid import grid
from bookbound.cli.log import Recording
from bookbound.cli.outcome import told
from bookbound.cli.parts import BookName, EditionName, IndexFolder
from bookbound.cli.progress import bars
from bookbound.cli.screen import Line, note, one_line, put, put_json
from bookbound.cli.streams import writing
from bookbound.errors import IndexTrouble, NoBook, ServiceTrouble
from bookbound.manifest import Manifest
from bookbound.volume import EVERY, UNNAMED, Volume

if TYPE_CHECKING:
    from bookbound.measure.figures import Plain

SHOWN, DAYS, OTHERS = 20, 14, 2
TIMES = ("p50", "p95")


class Format(StrEnum):
    """How to print a report."""

    TEXT = "text"
    HTML = "html"
    JSON = "json"


Since = Annotated[
    timedelta, typer.Option("--since", metavar="TIME", parser=ago, help="How far to look back, as in 2w.")
]
AsFormat = Annotated[Format, typer.Option("--format", help="For people, as a page with plots, or for scripts.")]


def report(
    ctx: typer.Context,
    since: Since = "30d",  # type: ignore[assignment]  # as it is typed, and shown in the help
    index: IndexFolder = None,
    book: BookName = None,
    edition: EditionName = None,
    as_format: AsFormat = Format.TEXT,
) -> None:
    """Tell what readers asked, what the book answered, and what they could not find; of every book: --book all.

    Exit codes: 0 done, 2 bad use or configuration, 3 a service could not be reached.
    """
    with told(as_format is Format.JSON):
        reported = asyncio.run(_reported(ctx.obj, settings.load(index=index, book=book, edition=edition), since))
        if as_format is Format.JSON:
            put_json(reported)
        elif as_format is Format.HTML:
            from bookbound.report.page import page

            with writing():
                sys.stdout.buffer.write(page(reported).encode(errors="backslashreplace"))
        else:
            put(_lines(reported))


async def _reported(parts: Recording, chosen: settings.Settings, since: timedelta) -> Plain:
    from bookbound.record.reading import reading
    from bookbound.report.figures import figures
    from bookbound.report.tally import Tally
    from bookbound.report.unanswered import unanswered

    until = datetime.now(UTC)
    of = Volume(chosen.book or "", chosen.edition or "").checked()
    of = Volume(EVERY) if of.book == EVERY else of
    with closing(parts.log(chosen)) as database, reading(database, until - since, of) as log:
        tally = Tally(log)
    books = await _books(parts, chosen, of, asked=bool(tally.volumes))
    with bars({"group": "Compare the questions"}) as progress:
        local = replace(chosen, embedder="local")
        groups = await unanswered(tally.wordings, lambda: parts.embedder(local), progress)
    return figures(tally, groups, of, books, until - since, until)


async def _books(parts: Recording, chosen: settings.Settings, of: Volume, asked: bool) -> dict[Volume, Manifest]:
    """What is indexed of a volume, where that can be told; the log is worth a report without it."""
    found: dict[Volume, Manifest] = {}
    try:
        volumes = await parts.volumes(chosen)
        for volume in filter(of.holds, volumes):
            if kept := await parts.store(chosen.naming(volume)).generations():
                found[volume] = kept[0]
    except (IndexTrouble, ServiceTrouble) as trouble:
        note([show.warning(f"Chapters that never answered are not told. {trouble}")])
        return {}
    if not found and not asked and of not in (UNNAMED, Volume(EVERY)):
        names = ", ".join(str(volume) or "one without a name" for volume in volumes) or "none"
        raise NoBook(f"There is no book or edition of this name here, and nobody asked one. There is: {names}.")
    return found


def _lines(reported: Plain) -> Iterator[Line]:
    from bookbound.report.page import span, title
    from bookbound.report.tables import COUNTS, elsewhere, milliseconds, tables

    yield Line.of((title(reported), "bold"))
    yield Line.of((span(reported), "dim"))
    if more := elsewhere(reported):
        yield Line.of((more, "dim"))
    for table in tables(reported):
        yield Line()
        yield from grid(table.columns, [tuple(map(one_line, row)) for row in table.rows], table.title)
    if days := [day for day in reported["by_day"] if day["asked"]][-DAYS:]:
        rows = [
            (day["day"], *(str(day[name]) for name in COUNTS), *(milliseconds(day[name]) for name in TIMES))
            for day in days
        ]
        yield Line()
        yield from grid(("", *COUNTS, *(f"{name} ms" for name in TIMES)), rows, "By day")
    yield Line()
    yield from _groups(reported)


def _groups(reported: Plain) -> Iterator[Line]:
    from bookbound.report.tables import left_out

    groups = reported["unanswered"]["groups"]
    yield Line.of(("What readers could not get answered", "bold"))
    if not groups:
        yield Line.of(("Nothing in this time.", "dim"), indent=2)
    width = len(str(groups[0]["asked"])) if groups else 0
    for group in groups[:SHOWN]:
        count = f"{group['asked']:>{width}}× "
        yield Line.of((count, "cyan"), one_line(group["typical"]), indent=2, hang=len(count))
        others = [words for words in group["wordings"] if words != group["typical"]]
        for words in others[:OTHERS]:
            yield Line.of((f"also: {one_line(words)}", "dim"), indent=2 + len(count))
    if (more := len(groups) - SHOWN) > 0:
        yield Line.of((f"and {show.counted(more, 'group')} more: --format html", "dim"), indent=2)
    if words := left_out(reported):
        yield Line.of((words, "dim"), indent=2)
