"""Implements the commands `log` and `key`, which manage the query log and the API keys."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Protocol

import typer

from bookbound import settings
from bookbound.cli import terminal
from bookbound.cli.common import Bootstrap, IndexOption, JsonOption, exit_on_error, parse_duration
from bookbound.cli.terminal import StyledLine, print_json, print_lines, print_to_stderr
from bookbound.domain.errors import ConfigError
from bookbound.domain.ports import Embedder

if TYPE_CHECKING:
    from bookbound.server.api_keys import ApiKey
    from bookbound.server.query_log.database import QueryLogDatabase
    from bookbound.server.query_log.history import QueryLogTotals


OlderThanOption = Annotated[
    timedelta | None,
    typer.Option(
        "--older-than",
        metavar="TIME",
        parser=parse_duration,
        help="As in 30d; 0d is everything, and needs --yes. Default: what is kept by setting.",
        show_default=False,
    ),
]
SchemaStepArgument = Annotated[
    str, typer.Argument(metavar="STEP", help="The step to go back to, such as 0001; or nothing.")
]
ConfirmDowngradeOption = Annotated[bool, typer.Option("--yes", help="What only later steps can hold may be deleted.")]
ConfirmPurgeOption = Annotated[bool, typer.Option("--yes", help="Every question may be deleted.")]


class QueryLogBootstrap(Bootstrap, Protocol):
    """What the commands for the log need besides."""

    def log(self, settings: settings.Settings) -> QueryLogDatabase:
        """Where questions are logged."""

    def keep(self, settings: settings.Settings) -> timedelta:
        """For how long they are."""

    def embedder(self, settings: settings.Settings) -> Embedder:
        """What tells questions that are alike."""


log_app = typer.Typer(no_args_is_help=True, help="Look after the log of questions: what it holds, how old, its tables.")


@log_app.command(epilog="Example: bookbound log status")
def status(ctx: typer.Context, index: IndexOption = None, as_json: JsonOption = False) -> None:
    """Say where the log is, how much it holds, and what could not be logged. Nothing is changed."""
    with exit_on_error(as_json):
        from bookbound.server.query_log import log_folder
        from bookbound.server.query_log.history import count_totals

        chosen = settings.load_settings(index=index)
        with _open_query_log(ctx.obj, chosen) as database:
            held, where = count_totals(database, log_folder(chosen.index)), database.where
        oldest = held.oldest.isoformat(timespec="seconds") if held.oldest else None
        if as_json:
            print_json({"log": chosen.log, "where": where, **held._asdict(), "oldest": oldest})
        else:
            print_lines(terminal.format_table(list(_build_log_rows(where, held, oldest or "none"))))


def _build_log_rows(where: str, held: QueryLogTotals, oldest: str) -> Iterator[tuple[str, str]]:
    yield "Log", where
    yield "Step", held.step
    yield "Questions", str(held.questions)
    yield "Oldest", oldest
    yield "Sessions", str(held.sessions)
    yield "Told as lost", str(held.lost)
    if held.outstanding:
        yield "Left untold", f"{held.outstanding}, by processes that are gone; the next server tells them"


@log_app.command(epilog="Example: bookbound log purge --older-than 30d")
def purge(
    ctx: typer.Context,
    older_than: OlderThanOption = None,
    everything: ConfirmPurgeOption = False,
    index: IndexOption = None,
    as_json: JsonOption = False,
) -> None:
    """Delete every question that is older than it need be. The server does so by itself, too."""
    with exit_on_error(as_json):
        chosen = settings.load_settings(index=index)
        parts: QueryLogBootstrap = ctx.obj
        age = parts.keep(chosen) if older_than is None else older_than
        if not age and not everything:
            raise ConfigError("This deletes every question there is. Where that is meant, add --yes.")
        with _open_query_log(parts, chosen) as database:
            deleted = _purge_older_than(database, datetime.now(UTC) - age)
        if as_json:
            print_json({"deleted": deleted})
        else:
            print_lines([StyledLine.of(f"Deleted {terminal.format_count(deleted, 'question')}.")])


@log_app.command(epilog="Example: bookbound log upgrade")
def upgrade(ctx: typer.Context, index: IndexOption = None) -> None:
    """Bring the tables of the log up to date. The server does so as it starts."""
    with exit_on_error(), _open_query_log(ctx.obj, settings.load_settings(index=index)) as database:
        from bookbound.server.query_log import schema

        at = schema.migrate(database)
        print_lines([StyledLine.of(f"The log is at step {schema.LATEST_REVISION}; it was at {at}.")])


@log_app.command(epilog="Example: bookbound log downgrade 0001 --yes")
def downgrade(
    ctx: typer.Context, step: SchemaStepArgument, yes: ConfirmDowngradeOption = False, index: IndexOption = None
) -> None:
    """Take the tables of the log back to an earlier step, for an older version of Bookbound."""
    with exit_on_error(), _open_query_log(ctx.obj, settings.load_settings(index=index)) as database:
        from bookbound.server.query_log import schema

        if not yes:
            raise ConfigError("To go back deletes what an earlier step cannot hold. Where that is meant, add --yes.")
        at = schema.downgrade(database, step)
        print_lines([StyledLine.of(f"The log is at step {step}; it was at {at}.")])


@contextmanager
def _open_query_log(parts: QueryLogBootstrap, chosen: settings.Settings) -> Iterator[QueryLogDatabase]:
    with closing(parts.log(chosen)) as database:
        yield database


def _purge_older_than(database: QueryLogDatabase, before: datetime) -> int:
    from bookbound.server.query_log import repository, schema

    if database.missing:
        return 0
    with database.read() as connection:
        if not schema.has_current_tables(connection):
            return 0
    return repository.delete_older_than(database, before)


OriginOption = Annotated[
    list[str] | None,
    typer.Option(
        "--origin",
        metavar="ORIGIN",
        help="Where the key may be used from, as in https://book.example; several times for several.",
        show_default=False,
    ),
]
AnyOriginOption = Annotated[
    bool, typer.Option("--any-origin", help="It may be used from every origin, and by programs.")
]
AdminOption = Annotated[
    bool, typer.Option("--admin", help="An admin key, which opens the index too; keep it off web pages.")
]
KeyNameOption = Annotated[
    str, typer.Option("--name", metavar="NAME", help="What to know the key by.", show_default=False)
]
KeyIdArgument = Annotated[str, typer.Argument(metavar="ID", help="The id of the key, as the list has it.")]
key_app = typer.Typer(no_args_is_help=True, help="Make, list and revoke keys to the service.")


@key_app.command(epilog="Example: bookbound key new --name site --origin https://book.example")
def new(
    origin: OriginOption = None,
    any_origin: AnyOriginOption = False,
    admin: AdminOption = False,
    name: KeyNameOption = "",
    index: IndexOption = None,
    as_json: JsonOption = False,
) -> None:
    """Make a key and show it, this once: only a hash of it is kept."""
    with exit_on_error(as_json):
        from bookbound.server import api_keys
        from bookbound.server.api_keys import ANY_ORIGIN, ApiKey, KeyKind

        origins = [*(origin or ()), *([ANY_ORIGIN] if any_origin else ())]
        if ANY_ORIGIN in (origin or ()):
            raise ConfigError("A key for every origin is made with --any-origin.")
        key, secret = ApiKey.new(KeyKind.ADMIN if admin else KeyKind.PUBLISHABLE, name, origins)
        file = _find_key_file(index)
        api_keys.add_key(file, key)
        if as_json:
            print_json(_serialize_key(key) | {"key": secret})
            return
        print_lines([StyledLine.of(secret, whole=True)])
        print_to_stderr(
            [StyledLine.of(f"This is the key with the id {key.id}. It is not shown again; its hash is in {file}")]
        )


@key_app.command("list", epilog="Example: bookbound key list --json")
def list_(index: IndexOption = None, as_json: JsonOption = False) -> None:
    """List the keys, without the keys themselves."""
    with exit_on_error(as_json):
        from bookbound.server import api_keys

        keys = api_keys.load_keys(_find_key_file(index)).keys
        if as_json:
            print_json({"keys": [_serialize_key(key) for key in keys]})
            return
        print_lines(_format_keys(keys))
        if not keys:
            print_to_stderr([StyledLine.of(f"There are no keys yet. To make one: {api_keys.CREATE_KEY_COMMAND}")])


@key_app.command(epilog="Example: bookbound key revoke 3f9a1c2e")
def revoke(id: KeyIdArgument, index: IndexOption = None, as_json: JsonOption = False) -> None:  # noqa: A002
    """Revoke a key: every server that reads the same file refuses it within a second."""
    with exit_on_error(as_json):
        from bookbound.server import api_keys

        key = api_keys.revoke_key(_find_key_file(index), id)
        if as_json:
            print_json(_serialize_key(key))
        else:
            print_lines([StyledLine.of(f"The key {key.id} is revoked since {key.revoked}.")])


def _find_key_file(index: Path | None) -> Path:
    from bookbound.server import api_keys

    return api_keys.key_file_path(settings.load_settings(index=index))


def _serialize_key(key: ApiKey) -> dict[str, Any]:
    return {name: value for name, value in asdict(key).items() if name != "hash"}


def _format_keys(keys: Sequence[ApiKey]) -> Iterator[StyledLine]:
    """A line for each key, with what is told of it under what is told of the others."""
    rows = [
        (key.kind.value, _describe_key_state(key), key.name, ", ".join(key.origins).replace("*", "any origin"))
        for key in keys
    ]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for key, row in zip(keys, rows, strict=True):
        cells = [cell.ljust(width) for cell, width in zip(row, widths, strict=True) if width]
        yield StyledLine.of((key.id, "bold"), f"  {'  '.join(cells)}".rstrip(), whole=True)


def _describe_key_state(key: ApiKey) -> str:
    return f"revoked {key.revoked}" if key.revoked else f"created {key.created}"
