"""Implements the command `report`, which shows what readers ask and do not find."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from enum import StrEnum
from functools import partial
from typing import TYPE_CHECKING, Annotated

import typer

from bookbound.cli import terminal
from bookbound.cli.book_access import Bootstrap, explain_missing_index
from bookbound.cli.exit_codes import exit_on_error
from bookbound.cli.options import BookOption, EditionOption, IndexOption, parse_duration
from bookbound.domain.book_ref import ALL_BOOKS, UNNAMED_BOOK, BookRef
from bookbound.domain.errors import IndexNotFoundError
from bookbound.domain.manifest import Manifest
from bookbound.settings import Settings, load_settings

if TYPE_CHECKING:
    from bookbound.evaluation import MetricsDict

MAX_LISTED_GROUPS, MAX_LISTED_DAYS, MAX_OTHER_WORDINGS = 20, 14, 2
LATENCY_PERCENTILES = ("p50", "p95")


class ReportFormat(StrEnum):
    """How to print a report."""

    TEXT = "text"
    HTML = "html"
    JSON = "json"


def report(
    ctx: typer.Context,
    since: Annotated[
        timedelta,
        typer.Option("--since", metavar="TIME", parser=parse_duration, help="How far to look back, such as 2w."),
    ] = "30d",  # type: ignore[assignment]  # the parser converts it, and the help shows it
    index: IndexOption = None,
    book: BookOption = None,
    edition: EditionOption = None,
    output_format: Annotated[
        ReportFormat, typer.Option("--format", help="Text, a page with plots, or JSON.")
    ] = ReportFormat.TEXT,
) -> None:
    """Report what readers asked, what the book answered, and what they could not find. For every book, use --book all.

    Exit codes: 0 done, 2 bad use or configuration, 3 a service could not be reached.
    """
    with exit_on_error(output_format is ReportFormat.JSON, index=index):
        built = asyncio.run(_build_report(ctx.obj, load_settings(index=index, book=book, edition=edition), since))
        if output_format is ReportFormat.JSON:
            terminal.print_json(built)
        elif output_format is ReportFormat.HTML:
            from bookbound.server.report.presentation import render_report

            with terminal.translate_output_errors():
                sys.stdout.buffer.write(render_report(built).encode(errors="backslashreplace"))
        else:
            terminal.print_lines(_format_report(built))


async def _build_report(bootstrap: Bootstrap, settings: Settings, since: timedelta) -> MetricsDict:
    load_books = partial(_load_manifests, bootstrap, settings)
    builder = replace(bootstrap.build_report_builder(settings, load_books), warn=terminal.print_warning)
    of = BookRef(ALL_BOOKS) if settings.book == ALL_BOOKS else settings.book_ref
    with terminal.show_progress({"group": "Compare the questions"}) as progress:
        return await builder.build(of, since, progress)


async def _load_manifests(bootstrap: Bootstrap, settings: Settings) -> dict[BookRef, Manifest]:
    """The manifests of the published books."""
    with explain_missing_index(settings.with_book(UNNAMED_BOOK) if settings.book == ALL_BOOKS else settings):
        books = await bootstrap.list_books(settings)
        if not books:
            raise IndexNotFoundError
    stored = {book: bootstrap.build_store(settings.with_book(book)) for book in books}
    return {book: (await store.generations())[0] for book, store in stored.items()}


def _format_report(report: MetricsDict) -> Iterator[terminal.StyledLine]:
    from bookbound.server.report import presentation

    yield terminal.styled((presentation.report_title(report), "bold"))
    yield terminal.styled((presentation.report_period(report), "dim"))
    if more := presentation.describe_other_books(report):
        yield terminal.styled((more, "dim"))
    for table in presentation.report_tables(report):
        yield terminal.BLANK_LINE
        yield from terminal.format_grid(
            table.columns, [tuple(map(terminal.escape_line_breaks, row)) for row in table.rows], table.title
        )
    if days := [day for day in report["by_day"] if day["asked"]][-MAX_LISTED_DAYS:]:
        rows = [
            (
                day["day"],
                *(str(day[name]) for name in presentation.REPORT_COLUMNS),
                *(presentation.format_milliseconds(day[name]) for name in LATENCY_PERCENTILES),
            )
            for day in days
        ]
        yield terminal.BLANK_LINE
        yield from terminal.format_grid(
            ("", *presentation.REPORT_COLUMNS, *(f"{name} ms" for name in LATENCY_PERCENTILES)), rows, "By day"
        )
    yield terminal.BLANK_LINE
    yield from _format_unanswered_groups(report)


def _format_unanswered_groups(report: MetricsDict) -> Iterator[terminal.StyledLine]:
    from bookbound.server.report.presentation import describe_uncompared

    groups = report["unanswered"]["groups"]
    yield terminal.styled(("Questions without an answer", "bold"))
    if not groups:
        yield terminal.styled(("Nothing in this period.", "dim"), indent=2)
    width = len(str(groups[0]["asked"])) if groups else 0
    for group in groups[:MAX_LISTED_GROUPS]:
        count = f"{group['asked']:>{width}}× "
        yield terminal.styled(
            (count, "cyan"), terminal.escape_line_breaks(group["typical"]), indent=2, hanging_indent=len(count)
        )
        others = [wording for wording in group["wordings"] if wording != group["typical"]]
        for wording in others[:MAX_OTHER_WORDINGS]:
            yield terminal.styled((f"also: {terminal.escape_line_breaks(wording)}", "dim"), indent=2 + len(count))
    if (more := len(groups) - MAX_LISTED_GROUPS) > 0:
        yield terminal.styled((f"and {terminal.format_count(more, 'group')} more: --format html", "dim"), indent=2)
    if note := describe_uncompared(report):
        yield terminal.styled((note, "dim"), indent=2)
