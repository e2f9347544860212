"""Implements the commands of `log`, which manage the query log."""

from __future__ import annotations

from contextlib import closing
from datetime import UTC, datetime, timedelta
from typing import Annotated

import typer

from bookbound.cli.exit_codes import exit_on_error
from bookbound.cli.options import IndexOption, JsonOption, parse_duration, parse_text
from bookbound.cli.terminal import format_count, format_table, print_json, print_line, print_result
from bookbound.domain.errors import ConfigError
from bookbound.domain.judgement import ReplyStatus
from bookbound.settings import load_settings

log_app = typer.Typer(no_args_is_help=True, help="Show, purge, upgrade and downgrade the query log.")


@log_app.command(epilog="Example: bookbound log status")
def status(ctx: typer.Context, index: IndexOption = None, as_json: JsonOption = False) -> None:
    """Show where the query log is, how much it holds, and how many questions could not be logged."""
    with exit_on_error(as_json, index=index):
        from bookbound.server.query_log.history import count_totals

        settings = load_settings(index=index)
        with closing(ctx.obj.open_query_log(settings)) as database:
            totals, location = count_totals(database), database.location
        oldest = totals.oldest.isoformat(timespec="seconds") if totals.oldest else None
        rows = [
            ("Log", location),
            ("Schema step", totals.step),
            ("Questions", str(totals.questions)),
            *((name.capitalize(), str(getattr(totals, name))) for name in (*ReplyStatus, "errors")),
            ("Oldest", oldest or "none"),
            ("Sessions", str(totals.sessions)),
            ("Not logged", str(totals.lost)),
        ]
        found = {"log": settings.query_log, "where": location, **totals._asdict(), "oldest": oldest}
        print_result(found, format_table(rows), as_json)


@log_app.command(epilog="Example: bookbound log purge --older-than 30d")
def purge(
    ctx: typer.Context,
    older_than: Annotated[
        timedelta | None,
        typer.Option(
            "--older-than",
            metavar="TIME",
            parser=parse_duration,
            help="Such as 30d; 0d means everything and needs --yes. Default: the setting query_log_days.",
        ),
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", help="Confirm that every question is deleted.")] = False,
    index: IndexOption = None,
    as_json: JsonOption = False,
) -> None:
    """Delete old questions. A running server also does this by itself."""
    with exit_on_error(as_json, index=index):
        from bookbound.server.query_log.repository import delete_older_than

        settings, bootstrap = load_settings(index=index), ctx.obj
        age = bootstrap.query_log_retention(settings) if older_than is None else older_than
        if not age and not yes:
            raise ConfigError("This deletes every question. To confirm, add --yes.")
        with closing(bootstrap.open_query_log(settings)) as database:
            deleted = delete_older_than(database, datetime.now(UTC) - age)
        print_json({"deleted": deleted}) if as_json else print_line(f"Deleted {format_count(deleted, 'question')}.")


@log_app.command(epilog="Example: bookbound log upgrade")
def upgrade(ctx: typer.Context, index: IndexOption = None) -> None:
    """Bring the tables of the query log up to date. A server also does this at start."""
    with exit_on_error(index=index), closing(ctx.obj.open_query_log(load_settings(index=index))) as database:
        from bookbound.server.query_log import schema

        before = schema.migrate(database)
        print_line(f"The query log is at schema step {schema.LATEST_STEP} (before: {before}).")


@log_app.command(epilog="Example: bookbound log downgrade 0001 --yes")
def downgrade(
    ctx: typer.Context,
    step: Annotated[
        str,
        typer.Argument(
            metavar="STEP", parser=parse_text, help="An earlier schema step, such as 0001; nothing removes all tables."
        ),
    ],
    yes: Annotated[
        bool, typer.Option("--yes", help="Confirm that data which the earlier step cannot store is deleted.")
    ] = False,
    index: IndexOption = None,
) -> None:
    """Take the tables of the query log back to an earlier schema step, for an older version of Bookbound."""
    with exit_on_error(index=index), closing(ctx.obj.open_query_log(load_settings(index=index))) as database:
        from bookbound.server.query_log import schema

        if not yes:
            raise ConfigError("This deletes data that the earlier step cannot store. To confirm, add --yes.")
        before = schema.downgrade(database, step)
        print_line(f"The query log is at schema step {step} (before: {before}).")
