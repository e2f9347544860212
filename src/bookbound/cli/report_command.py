"""Implements the command `report`, which shows what readers ask and do not find."""

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
from bookbound.cli import terminal
from bookbound.cli.admin_commands import QueryLogBootstrap
from bookbound.cli.common import BookOption, EditionOption, IndexOption, exit_on_error, parse_duration
from bookbound.cli.terminal import (
    StyledLine,
    escape_line_breaks,
    format_grid,
    print_json,
    print_lines,
    print_to_stderr,
    show_progress,
    translate_output_errors,
)
from bookbound.domain.book_ref import ALL_BOOKS, UNNAMED_BOOK, BookRef
from bookbound.domain.errors import BookIndexError, BookNotFoundError, ServiceError
from bookbound.domain.manifest import Manifest

if TYPE_CHECKING:
    from bookbound.evaluation.runner import MetricsDict


MAX_LISTED_GROUPS, MAX_LISTED_DAYS, MAX_OTHER_WORDINGS = 20, 14, 2
LATENCY_PERCENTILES = ("p50", "p95")


class ReportFormat(StrEnum):
    """How to print a report."""

    TEXT = "text"
    HTML = "html"
    JSON = "json"


SinceOption = Annotated[
    timedelta, typer.Option("--since", metavar="TIME", parser=parse_duration, help="How far to look back, as in 2w.")
]
ReportFormatOption = Annotated[
    ReportFormat, typer.Option("--format", help="For people, as a page with plots, or for scripts.")
]


def report(
    ctx: typer.Context,
    since: SinceOption = "30d",  # type: ignore[assignment]  # as it is typed, and shown in the help
    index: IndexOption = None,
    book: BookOption = None,
    edition: EditionOption = None,
    as_format: ReportFormatOption = ReportFormat.TEXT,
) -> None:
    """Tell what readers asked, what the book answered, and what they could not find; of every book: --book all.

    Exit codes: 0 done, 2 bad use or configuration, 3 a service could not be reached.
    """
    with exit_on_error(as_format is ReportFormat.JSON):
        reported = asyncio.run(
            _build_report(ctx.obj, settings.load_settings(index=index, book=book, edition=edition), since)
        )
        if as_format is ReportFormat.JSON:
            print_json(reported)
        elif as_format is ReportFormat.HTML:
            from bookbound.server.report.presentation import render_report

            with translate_output_errors():
                sys.stdout.buffer.write(render_report(reported).encode(errors="backslashreplace"))
        else:
            print_lines(_format_report(reported))


async def _build_report(parts: QueryLogBootstrap, chosen: settings.Settings, since: timedelta) -> MetricsDict:
    from bookbound.server.query_log.history import open_snapshot
    from bookbound.server.report import LogStatistics, summarize_log
    from bookbound.server.report.question_groups import group_unanswered

    until = datetime.now(UTC)
    of = BookRef(chosen.book or "", chosen.edition or "").checked()
    of = BookRef(ALL_BOOKS) if of.book == ALL_BOOKS else of
    with closing(parts.log(chosen)) as database, open_snapshot(database, until - since, of) as log:
        tally = LogStatistics(log)
    books = await _load_manifests(parts, chosen, of, asked=bool(tally.volumes))
    with show_progress({"group": "Compare the questions"}) as progress:
        local = replace(chosen, embedder="local")
        groups = await group_unanswered(tally.wordings, lambda: parts.embedder(local), progress)
    return summarize_log(tally, groups, of, books, until - since, until)


async def _load_manifests(
    parts: QueryLogBootstrap, chosen: settings.Settings, of: BookRef, asked: bool
) -> dict[BookRef, Manifest]:
    """What is indexed of a volume, where that can be told; the log is worth a report without it."""
    found: dict[BookRef, Manifest] = {}
    try:
        volumes = await parts.volumes(chosen)
        for volume in filter(of.holds, volumes):
            if kept := await parts.store(chosen.naming(volume)).generations():
                found[volume] = kept[0]
    except (BookIndexError, ServiceError) as trouble:
        print_to_stderr([terminal.format_warning(f"Chapters that never answered are not told. {trouble}")])
        return {}
    if not found and not asked and of not in (UNNAMED_BOOK, BookRef(ALL_BOOKS)):
        names = ", ".join(str(volume) or "one without a name" for volume in volumes) or "none"
        raise BookNotFoundError(
            f"There is no book or edition of this name here, and nobody asked one. There is: {names}."
        )
    return found


def _format_report(reported: MetricsDict) -> Iterator[StyledLine]:
    from bookbound.server.report.presentation import (
        COUNT_COLUMNS,
        describe_other_books,
        format_milliseconds,
        report_period,
        report_tables,
        report_title,
    )

    yield StyledLine.of((report_title(reported), "bold"))
    yield StyledLine.of((report_period(reported), "dim"))
    if more := describe_other_books(reported):
        yield StyledLine.of((more, "dim"))
    for table in report_tables(reported):
        yield StyledLine()
        yield from format_grid(table.columns, [tuple(map(escape_line_breaks, row)) for row in table.rows], table.title)
    if days := [day for day in reported["by_day"] if day["asked"]][-MAX_LISTED_DAYS:]:
        rows = [
            (
                day["day"],
                *(str(day[name]) for name in COUNT_COLUMNS),
                *(format_milliseconds(day[name]) for name in LATENCY_PERCENTILES),
            )
            for day in days
        ]
        yield StyledLine()
        yield from format_grid(("", *COUNT_COLUMNS, *(f"{name} ms" for name in LATENCY_PERCENTILES)), rows, "By day")
    yield StyledLine()
    yield from _format_unanswered_groups(reported)


def _format_unanswered_groups(reported: MetricsDict) -> Iterator[StyledLine]:
    from bookbound.server.report.presentation import describe_uncompared

    groups = reported["unanswered"]["groups"]
    yield StyledLine.of(("What readers could not get answered", "bold"))
    if not groups:
        yield StyledLine.of(("Nothing in this time.", "dim"), indent=2)
    width = len(str(groups[0]["asked"])) if groups else 0
    for group in groups[:MAX_LISTED_GROUPS]:
        count = f"{group['asked']:>{width}}× "
        yield StyledLine.of((count, "cyan"), escape_line_breaks(group["typical"]), indent=2, hang=len(count))
        others = [words for words in group["wordings"] if words != group["typical"]]
        for words in others[:MAX_OTHER_WORDINGS]:
            yield StyledLine.of((f"also: {escape_line_breaks(words)}", "dim"), indent=2 + len(count))
    if (more := len(groups) - MAX_LISTED_GROUPS) > 0:
        yield StyledLine.of((f"and {terminal.format_count(more, 'group')} more: --format html", "dim"), indent=2)
    if words := describe_uncompared(reported):
        yield StyledLine.of((words, "dim"), indent=2)
