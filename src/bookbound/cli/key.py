"""Make, list and revoke keys to the service."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from bookbound import settings
from bookbound.cli.outcome import told
from bookbound.cli.parts import AsJson, IndexFolder
from bookbound.cli.screen import Line, note, put, put_json
from bookbound.errors import BadSetup

if TYPE_CHECKING:
    from bookbound.serve.keys import Key

Origin = Annotated[
    list[str] | None,
    typer.Option(
        "--origin",
        metavar="ORIGIN",
        help="Where the key may be used from, as in https://book.example; several times for several.",
        show_default=False,
    ),
]
AnyOrigin = Annotated[bool, typer.Option("--any-origin", help="It may be used from every origin, and by programs.")]
Admin = Annotated[bool, typer.Option("--admin", help="An admin key, which opens the index too; keep it off web pages.")]
Name = Annotated[str, typer.Option("--name", metavar="NAME", help="What to know the key by.", show_default=False)]
Id = Annotated[str, typer.Argument(metavar="ID", help="The id of the key, as the list has it.")]

app = typer.Typer(no_args_is_help=True, help="Make, list and revoke keys to the service.")


@app.command(epilog="Example: bookbound key new --name site --origin https://book.example")
def new(
    origin: Origin = None,
    any_origin: AnyOrigin = False,
    admin: Admin = False,
    name: Name = "",
    index: IndexFolder = None,
    as_json: AsJson = False,
) -> None:
    """Make a key and show it, this once: only a hash of it is kept."""
    with told(as_json):
        from bookbound.serve import keyfile
        from bookbound.serve.keys import ANYWHERE, Key, Kind

        origins = [*(origin or ()), *([ANYWHERE] if any_origin else ())]
        if ANYWHERE in (origin or ()):
            raise BadSetup("A key for every origin is made with --any-origin.")
        key, secret = Key.new(Kind.ADMIN if admin else Kind.PUBLISHABLE, name, origins)
        file = _file(index)
        keyfile.add(file, key)
        if as_json:
            put_json(_plain(key) | {"key": secret})
            return
        put([Line.of(secret, whole=True)])
        note([Line.of(f"This is the key with the id {key.id}. It is not shown again; its hash is in {file}")])


@app.command("list", epilog="Example: bookbound key list --json")
def list_(index: IndexFolder = None, as_json: AsJson = False) -> None:
    """List the keys, without the keys themselves."""
    with told(as_json):
        from bookbound.serve import keyfile

        keys = keyfile.read(_file(index)).keys
        if as_json:
            put_json({"keys": [_plain(key) for key in keys]})
            return
        put(_lines(keys))
        if not keys:
            note([Line.of(f"There are no keys yet. To make one: {keyfile.MAKE}")])


@app.command(epilog="Example: bookbound key revoke 3f9a1c2e")
def revoke(id: Id, index: IndexFolder = None, as_json: AsJson = False) -> None:  # noqa: A002
    """Revoke a key: every server that reads the same file refuses it within a second."""
    with told(as_json):
        from bookbound.serve import keyfile

        key = keyfile.revoke(_file(index), id)
        if as_json:
            put_json(_plain(key))
        else:
            put([Line.of(f"The key {key.id} is revoked since {key.revoked}.")])


def _file(index: Path | None) -> Path:
    from bookbound.serve import keyfile

    return keyfile.place(settings.load(index=index))


def _plain(key: Key) -> dict[str, Any]:
    return {name: value for name, value in asdict(key).items() if name != "hash"}


def _lines(keys: Sequence[Key]) -> Iterator[Line]:
    """A line for each key, with what is told of it under what is told of the others."""
    rows = [(key.kind.value, _state(key), key.name, ", ".join(key.origins).replace("*", "any origin")) for key in keys]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for key, row in zip(keys, rows, strict=True):
        cells = [cell.ljust(width) for cell, width in zip(row, widths, strict=True) if width]
        yield Line.of((key.id, "bold"), f"  {'  '.join(cells)}".rstrip(), whole=True)


def _state(key: Key) -> str:
    return f"revoked {key.revoked}" if key.revoked else f"created {key.created}"
