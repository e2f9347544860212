"""Implements the commands `status`, `rollback`, `export` and `import` for a published index."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from bookbound import settings
from bookbound.answering.operating_point import ActiveOperatingPoint
from bookbound.cli import terminal
from bookbound.cli.common import (
    BookOption,
    Bootstrap,
    EditionOption,
    IndexOption,
    JsonOption,
    describe_index_location,
    exit_on_error,
    explain_missing_index,
    parse_path,
)
from bookbound.cli.terminal import StyledLine, print_json, print_lines, print_to_stderr, show_progress
from bookbound.contracts import serialization
from bookbound.domain.book_ref import UNNAMED_BOOK, BookRef
from bookbound.domain.errors import ConfigError, SourceError
from bookbound.domain.manifest import ChapterSummary, Manifest
from bookbound.domain.ports import IndexStore


def status(
    ctx: typer.Context,
    index: IndexOption = None,
    book: BookOption = None,
    edition: EditionOption = None,
    as_json: JsonOption = False,
) -> None:
    """Say which book is indexed, with what, when, and how large the index is; and which others there are."""
    with exit_on_error(as_json):
        chosen = settings.load_settings(index=index, book=book, edition=edition)
        parts: Bootstrap = ctx.obj
        with explain_missing_index(chosen):
            volumes = asyncio.run(parts.volumes(chosen))
            if volumes and chosen.volume == UNNAMED_BOOK and UNNAMED_BOOK not in volumes:
                print_overview(asyncio.run(_load_book_manifests(parts, chosen, volumes)), as_json)
                return
            chosen = asyncio.run(parts.asked(chosen))
            kept = asyncio.run(parts.store(chosen).generations())
        chosen, manifest = parts.placed(chosen), kept[0]
        held, writer = parts.point(chosen, manifest), parts.writer_name(chosen)
        size = None if chosen.qdrant_url else _measure_disk_usage(chosen.index / "generations")
        if as_json:
            generations = [{"generation": each.generation, "created": each.created} for each in kept]
            point = {**asdict(held.point), "origin": held.origin}
            kept_in = {"bytes": size, "generations": generations}
            others = {"books": [str(volume) for volume in volumes]}
            print_json(
                {
                    **serialization.serialize_manifest(manifest),
                    **kept_in,
                    "operating_point": point,
                    "writer": writer,
                    **others,
                }
            )
            return
        print_lines(
            terminal.format_table(
                [
                    *_build_index_rows(manifest, kept, describe_index_location(chosen), size),
                    _build_operating_point_row(held),
                    ("Writer", writer),
                ]
            )
        )
        print_lines([StyledLine(), StyledLine.of(("Generations", "bold"))])
        print_lines(_format_generation(each, current=each is manifest) for each in kept)
        if volumes != [UNNAMED_BOOK]:
            print_lines([StyledLine(), StyledLine.of(("Books", "bold"))])
            print_lines(StyledLine.of(str(volume) or "(without a name)", indent=2) for volume in volumes)
        print_lines([StyledLine(), StyledLine.of(("Chapters", "bold"))])
        print_lines(_format_chapter(chapter) for chapter in manifest.chapters)


def _build_index_rows(manifest: Manifest, kept: list[Manifest], place: str, size: int | None) -> list[tuple[str, str]]:
    rows = [
        ("Book", manifest.title),
        ("Kind", manifest.kind),
        ("Pages", str(manifest.pages)),
        ("Chunks", str(manifest.chunks)),
        ("Embedder", manifest.embedder),
        ("Generation", f"{manifest.generation} ({len(kept)} kept)"),
        ("Created", manifest.created),
        ("Index", place),
    ]
    return rows if size is None else [*rows, ("On disk", terminal.format_bytes(size))]


async def _load_book_manifests(
    parts: Bootstrap, chosen: settings.Settings, volumes: list[BookRef]
) -> dict[BookRef, Manifest]:
    """What each book and edition says of itself."""
    return {volume: (await parts.store(chosen.naming(volume)).generations())[0] for volume in volumes}


def print_overview(books: dict[BookRef, Manifest], as_json: bool) -> None:
    """Print which books and editions there are."""
    if as_json:
        print_json(
            {"books": [{"name": str(volume), **serialization.serialize_manifest(books[volume])} for volume in books]}
        )
        return
    print_lines(
        terminal.format_table(
            [(volume.options or "(without a name)", _describe_manifest(books[volume])) for volume in books]
        )
    )


def _describe_manifest(manifest: Manifest) -> str:
    counts = f"{terminal.format_count(manifest.pages, 'page')}, {terminal.format_count(manifest.chunks, 'chunk')}"
    return f"{manifest.title} ({counts}, {manifest.created})"


def _format_generation(manifest: Manifest, current: bool) -> StyledLine:
    told = f"  {manifest.created}, {terminal.format_count(manifest.chunks, 'chunk')}{', published' if current else ''}"
    return StyledLine.of(manifest.generation, (told, "dim"), indent=2)


def _build_operating_point_row(held: ActiveOperatingPoint) -> tuple[str, str]:
    return "Operating point", f"answers from {held.point.answered:.2f} on ({held.origin})"


def _format_chapter(chapter: ChapterSummary) -> StyledLine:
    counts = f"{terminal.format_count(chapter.pages, 'page')}, {terminal.format_count(chapter.chunks, 'chunk')}"
    return StyledLine.of(chapter.title or "(none)", (f"  {counts}", "dim"), indent=2)


def _measure_disk_usage(folder: Path) -> int:
    """What the files take up; the engine's are much larger by name, being mostly holes."""
    return sum(file.stat().st_blocks * 512 for file in folder.rglob("*") if file.is_file())


def rollback(
    ctx: typer.Context,
    index: IndexOption = None,
    book: BookOption = None,
    edition: EditionOption = None,
    as_json: JsonOption = False,
) -> None:
    """Withdraw the published index for the one before it; whoever reads it moves there by itself."""
    with exit_on_error(as_json):
        chosen = settings.load_settings(index=index, book=book, edition=edition)
        parts: Bootstrap = ctx.obj
        with explain_missing_index(chosen):
            chosen = asyncio.run(parts.asked(chosen))
            withdrawn, now = asyncio.run(_roll_back(parts.store(chosen)))
        if as_json:
            print_json({**serialization.serialize_manifest(now), "withdrawn": withdrawn})
            return
        print_lines(
            [
                StyledLine.of("Withdrawn: ", withdrawn),
                StyledLine.of(
                    "Published: ", (now.generation, "bold"), (f"  {now.created}, {now.chunks} chunks", "dim")
                ),
            ]
        )


async def _roll_back(store: IndexStore) -> tuple[str, Manifest]:
    """The name of what is withdrawn, which may well be all of it that can be read, and what is published then."""
    return await store.published(), await store.roll_back()


ArchiveFileArgument = Annotated[
    Path, typer.Argument(metavar="FILE", parser=parse_path, help="The file, such as book.bookbound.")
]
ForceImportOption = Annotated[
    bool, typer.Option("--force", help="Also where another book, or more of this one, is published.")
]


def export(
    ctx: typer.Context,
    file: ArchiveFileArgument,
    index: IndexOption = None,
    book: BookOption = None,
    edition: EditionOption = None,
    as_json: JsonOption = False,
) -> None:
    """Write the published index to one file, to be imported elsewhere: another folder, machine or Qdrant server."""
    from bookbound.indexing.archive import export_index as write

    with exit_on_error(as_json):
        chosen = settings.load_settings(index=index, book=book, edition=edition)
        parts: Bootstrap = ctx.obj
        with explain_missing_index(chosen), show_progress({"chunks": "Chunks", "vectors": "Vectors"}) as progress:
            chosen = asyncio.run(parts.asked(chosen))
            manifest = asyncio.run(write(parts.store(chosen), file, progress))
        _print_transfer_result(
            manifest, [("File", str(file)), ("Size", terminal.format_bytes(file.stat().st_size))], as_json
        )


def import_(
    ctx: typer.Context,
    file: ArchiveFileArgument,
    index: IndexOption = None,
    book: BookOption = None,
    edition: EditionOption = None,
    force: ForceImportOption = False,
    as_json: JsonOption = False,
) -> None:
    """Publish an index that was exported; readers keep the old one until it is whole."""
    from bookbound.indexing.archive import import_index as publish

    with exit_on_error(as_json):
        chosen = settings.load_settings(index=index, book=book, edition=edition)
        parts: Bootstrap = ctx.obj
        try:
            with show_progress({"import": "Import"}) as progress:
                manifest = asyncio.run(publish(file, parts.store(chosen), progress, force=force))
        except SourceError as trouble:
            raise type(trouble)(f"{file}: {trouble}") from trouble
        _print_transfer_result(
            manifest, [("Name", chosen.volume.options or "none"), ("Index", describe_index_location(chosen))], as_json
        )
        asyncio.run(_warn_embedder_mismatch(manifest, parts, chosen))


async def _warn_embedder_mismatch(manifest: Manifest, parts: Bootstrap, chosen: settings.Settings) -> None:
    """Say what to set where questions are embedded with something else than the index was made with."""
    with suppress(ConfigError):  # which whoever asks is told of
        words = parts.embedder(chosen)
        if words.name != manifest.embedder:
            made, asked = manifest.embedder, words.name
            told = (
                f"This index was made with {made}, but questions are embedded with {asked}: none can be answered. "
                "Set `embedder` and `embed_model` as they were where it was exported, or index the book again."
            )
            print_to_stderr([terminal.format_warning(told)])
        await words.close()


def _print_transfer_result(manifest: Manifest, rows: list[tuple[str, str]], as_json: bool) -> None:
    if as_json:
        print_json({**serialization.serialize_manifest(manifest), **{name.lower(): value for name, value in rows}})
        return
    about = [("Book", manifest.title), ("Chunks", str(manifest.chunks)), ("Generation", manifest.generation)]
    print_lines(terminal.format_table([*about, *rows]))
