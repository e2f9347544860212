"""Move an index: to one file, and from it."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from pathlib import Path
from typing import Annotated

import typer

from bookbound import settings
from bookbound.cli import show
from bookbound.cli.outcome import told
from bookbound.cli.parts import AsJson, BookName, EditionName, IndexFolder, Parts
from bookbound.cli.place import indexed, named, where
from bookbound.cli.progress import bars
from bookbound.cli.screen import note, put, put_json
from bookbound.errors import BadSetup, BadSource
from bookbound.faces import canonical
from bookbound.manifest import Manifest

File = Annotated[Path, typer.Argument(metavar="FILE", parser=named, help="The file, such as book.bookbound.")]
Force = Annotated[bool, typer.Option("--force", help="Also where another book, or more of this one, is published.")]


def export(
    ctx: typer.Context,
    file: File,
    index: IndexFolder = None,
    book: BookName = None,
    edition: EditionName = None,
    as_json: AsJson = False,
) -> None:
    """Write the published index to one file, to be imported elsewhere: another folder, machine or Qdrant server."""
    from bookbound.transfer import export as write

    with told(as_json):
        chosen = settings.load(index=index, book=book, edition=edition)
        parts: Parts = ctx.obj
        with indexed(chosen), bars({"chunks": "Chunks", "vectors": "Vectors"}) as progress:
            chosen = asyncio.run(parts.asked(chosen))
            manifest = asyncio.run(write(parts.store(chosen), file, progress))
        _tell(manifest, [("File", str(file)), ("Size", show.sized(file.stat().st_size))], as_json)


def import_(
    ctx: typer.Context,
    file: File,
    index: IndexFolder = None,
    book: BookName = None,
    edition: EditionName = None,
    force: Force = False,
    as_json: AsJson = False,
) -> None:
    """Publish an index that was exported; readers keep the old one until it is whole."""
    from bookbound.transfer import import_ as publish

    with told(as_json):
        chosen = settings.load(index=index, book=book, edition=edition)
        parts: Parts = ctx.obj
        try:
            with bars({"import": "Import"}) as progress:
                manifest = asyncio.run(publish(file, parts.store(chosen), progress, force=force))
        except BadSource as trouble:
            raise type(trouble)(f"{file}: {trouble}") from trouble
        _tell(manifest, [("Name", chosen.volume.options or "none"), ("Index", where(chosen))], as_json)
        asyncio.run(_warn(manifest, parts, chosen))


async def _warn(manifest: Manifest, parts: Parts, chosen: settings.Settings) -> None:
    """Say what to set where questions are embedded with something else than the index was made with."""
    with suppress(BadSetup):  # which whoever asks is told of
        words = parts.embedder(chosen)
        if words.name != manifest.embedder:
            made, asked = manifest.embedder, words.name
            told = (
                f"This index was made with {made}, but questions are embedded with {asked}: none can be answered. "
                "Set `embedder` and `embed_model` as they were where it was exported, or index the book again."
            )
            note([show.warning(told)])
        await words.close()


def _tell(manifest: Manifest, rows: list[tuple[str, str]], as_json: bool) -> None:
    if as_json:
        put_json({**canonical.manifest(manifest), **{name.lower(): value for name, value in rows}})
        return
    about = [("Book", manifest.title), ("Chunks", str(manifest.chunks)), ("Generation", manifest.generation)]
    put(show.table([*about, *rows]))
