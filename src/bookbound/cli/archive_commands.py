"""Implements the commands `export` and `import`, which move an index through one file."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from pathlib import Path
from typing import Annotated

import typer

from bookbound.cli import terminal
from bookbound.cli.book_access import Bootstrap, describe_location, explain_missing_index
from bookbound.cli.exit_codes import exit_on_error, prefix_source_errors
from bookbound.cli.options import BookOption, EditionOption, IndexOption, JsonOption, parse_path
from bookbound.contracts.serialization import serialize_manifest
from bookbound.domain.errors import ConfigError
from bookbound.domain.manifest import Manifest
from bookbound.settings import Settings, load_settings

ArchiveFileArgument = Annotated[
    Path, typer.Argument(metavar="FILE", parser=parse_path, help="The file, such as book.bookbound.")
]


def export(
    ctx: typer.Context,
    file: ArchiveFileArgument,
    index: IndexOption = None,
    book: BookOption = None,
    edition: EditionOption = None,
    as_json: JsonOption = False,
) -> None:
    """Write the published index to one file, to import it in another folder, machine or Qdrant server."""
    from bookbound.indexing.archive import export_index

    with exit_on_error(as_json, index=index):
        settings = load_settings(index=index, book=book, edition=edition)
        bootstrap: Bootstrap = ctx.obj
        stages = {"chunks": "Chunks", "vectors": "Vectors"}
        with explain_missing_index(settings), terminal.show_progress(stages) as progress:
            settings = asyncio.run(bootstrap.resolve_book_settings(settings))
            manifest = asyncio.run(export_index(bootstrap.build_store(settings), file, progress))
        rows = [("File", str(file)), ("Size", terminal.format_bytes(file.stat().st_size))]
        _print_transfer_result(manifest, rows, as_json)


def import_(
    ctx: typer.Context,
    file: ArchiveFileArgument,
    index: IndexOption = None,
    book: BookOption = None,
    edition: EditionOption = None,
    force: Annotated[
        bool, typer.Option("--force", help="Import even if another book, or more of this one, is published.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Publish an exported index; readers keep the old one until it is complete."""
    from bookbound.indexing.archive import import_index

    with exit_on_error(as_json, index=index):
        settings = load_settings(index=index, book=book, edition=edition)
        bootstrap: Bootstrap = ctx.obj
        with prefix_source_errors(file), terminal.show_progress({"import": "Import"}) as progress:
            manifest = asyncio.run(import_index(file, bootstrap.build_store(settings), progress, force=force))
        rows = [("Name", settings.book_ref.cli_options or "none"), ("Index", describe_location(settings))]
        _print_transfer_result(manifest, rows, as_json)
        asyncio.run(_warn_embedder_mismatch(manifest, bootstrap, settings))


async def _warn_embedder_mismatch(manifest: Manifest, bootstrap: Bootstrap, settings: Settings) -> None:
    with suppress(ConfigError):  # the next question reports it
        embedder = bootstrap.build_embedder(settings)
        if embedder.name != manifest.embedder:
            terminal.print_warning(
                f"This index was made with {manifest.embedder}, but questions are embedded with {embedder.name}, so "
                "none can be answered. Set `embedder` and `embedder_model` as for the export, or index the book again."
            )
        await embedder.close()


def _print_transfer_result(manifest: Manifest, rows: list[tuple[str, str]], as_json: bool) -> None:
    about = [("Book", manifest.title), ("Chunks", str(manifest.chunks)), ("Generation", manifest.generation)]
    described = serialize_manifest(manifest) | {name.lower(): value for name, value in rows}
    terminal.print_result(described, terminal.format_table([*about, *rows]), as_json)
