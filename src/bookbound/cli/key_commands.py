"""Implements the commands of `key`, which manage the API keys."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from bookbound.cli.exit_codes import exit_on_error, keep_index_option
from bookbound.cli.options import IndexOption, JsonOption, parse_text
from bookbound.cli.terminal import StyledLine, print_json, print_line, print_lines, print_to_stderr, styled
from bookbound.domain.errors import ConfigError
from bookbound.settings import load_settings

if TYPE_CHECKING:
    from bookbound.server.api_keys import ApiKey

key_app = typer.Typer(no_args_is_help=True, help="Make, list and revoke API keys.")


@key_app.command(epilog="Example: bookbound key new --name site --origin https://book.example")
def new(
    origin: Annotated[
        list[str] | None,
        typer.Option(
            "--origin",
            metavar="ORIGIN",
            help="An origin that may use the key, such as https://book.example; may be repeated.",
        ),
    ] = None,
    any_origin: Annotated[bool, typer.Option("--any-origin", help="Every origin and program may use the key.")] = False,
    admin: Annotated[
        bool, typer.Option("--admin", help="Make an admin key, which may change the index; keep it off web pages.")
    ] = False,
    name: Annotated[str, typer.Option("--name", metavar="NAME", help="A name that helps you recognize the key.")] = "",
    index: IndexOption = None,
    as_json: JsonOption = False,
) -> None:
    """Make a key and show it once; only its hash is stored."""
    with exit_on_error(as_json, index=index):
        from bookbound.server import api_keys
        from bookbound.server.api_keys import ANY_ORIGIN, ApiKey, KeyKind

        origins = origin or []
        if ANY_ORIGIN in origins:
            raise ConfigError("For a key that every origin may use, add --any-origin.")
        kind = KeyKind.ADMIN if admin else KeyKind.PUBLISHABLE
        key, secret = ApiKey.new(kind, name, [*origins, *[ANY_ORIGIN] * any_origin])
        file = _find_key_file(index)
        api_keys.add_key(file, key)
        if as_json:
            print_json(_serialize_key(key) | {"key": secret})
            return
        print_line(secret, no_wrap=True)
        print_to_stderr(
            f"Copy the key now: it is not shown again. Its id is {key.id}, and its hash is stored in {file}"
        )


@key_app.command("list", epilog="Example: bookbound key list --json")
def list_(index: IndexOption = None, as_json: JsonOption = False) -> None:
    """List the keys, without their secrets."""
    with exit_on_error(as_json, index=index):
        from bookbound.server import api_keys

        keys = api_keys.load_keys(_find_key_file(index)).keys
        if as_json:
            print_json({"keys": [_serialize_key(key) for key in keys]})
            return
        print_lines(_format_keys(keys))
        if not keys:
            suggestion = f"There are no keys yet. To make one: {api_keys.CREATE_KEY_COMMAND}"
            print_to_stderr(keep_index_option(suggestion, index))


@key_app.command(epilog="Example: bookbound key revoke 3f9a1c2e")
def revoke(
    id: Annotated[str, typer.Argument(metavar="ID", parser=parse_text, help="The id of the key, as listed.")],  # noqa: A002
    index: IndexOption = None,
    as_json: JsonOption = False,
) -> None:
    """Revoke a key; servers that read the same file refuse it within a second."""
    with exit_on_error(as_json, index=index):
        from bookbound.server import api_keys

        key = api_keys.revoke_key(_find_key_file(index), id)
        print_json(_serialize_key(key)) if as_json else print_line(f"The key {key.id} was revoked at {key.revoked}.")


def _find_key_file(index: Path | None) -> Path:
    from bookbound.server import api_keys

    return api_keys.key_file_path(load_settings(index=index))


def _serialize_key(key: ApiKey) -> dict[str, Any]:
    return {name: value for name, value in asdict(key).items() if name != "hash"}


def _format_keys(keys: Sequence[ApiKey]) -> Iterator[StyledLine]:
    rows = [
        (
            key.kind.value,
            f"revoked {key.revoked}" if key.revoked else f"created {key.created}",
            key.name,
            ", ".join(key.origins).replace("*", "any origin"),
        )
        for key in keys
    ]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for key, row in zip(keys, rows, strict=True):
        cells = [cell.ljust(width) for cell, width in zip(row, widths, strict=True) if width]
        yield styled((key.id, "bold"), f"  {'  '.join(cells)}".rstrip(), no_wrap=True)
