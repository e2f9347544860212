"""Say what is indexed."""

from __future__ import annotations

import asyncio
from dataclasses import asdict
from pathlib import Path

import typer

from bookbound import settings
from bookbound.calibration import InForce
from bookbound.cli import show
from bookbound.cli.outcome import told
from bookbound.cli.parts import AsJson, BookName, EditionName, IndexFolder, Parts
from bookbound.cli.place import indexed, where
from bookbound.cli.screen import Line, put, put_json
from bookbound.faces import canonical
from bookbound.manifest import Chapter, Manifest
from bookbound.volume import UNNAMED, Volume


def status(
    ctx: typer.Context,
    index: IndexFolder = None,
    book: BookName = None,
    edition: EditionName = None,
    as_json: AsJson = False,
) -> None:
    """Say which book is indexed, with what, when, and how large the index is; and which others there are."""
    with told(as_json):
        chosen = settings.load(index=index, book=book, edition=edition)
        parts: Parts = ctx.obj
        with indexed(chosen):
            volumes = asyncio.run(parts.volumes(chosen))
            if volumes and chosen.volume == UNNAMED and UNNAMED not in volumes:
                overview(asyncio.run(_books(parts, chosen, volumes)), as_json)
                return
            chosen = asyncio.run(parts.asked(chosen))
            kept = asyncio.run(parts.store(chosen).generations())
        chosen, manifest = parts.placed(chosen), kept[0]
        held, writer = parts.point(chosen, manifest), parts.writer_name(chosen)
        size = None if chosen.qdrant_url else _size(chosen.index / "generations")
        if as_json:
            generations = [{"generation": each.generation, "created": each.created} for each in kept]
            point = {**asdict(held.point), "origin": held.origin}
            kept_in = {"bytes": size, "generations": generations}
            others = {"books": [str(volume) for volume in volumes]}
            put_json({**canonical.manifest(manifest), **kept_in, "operating_point": point, "writer": writer, **others})
            return
        put(show.table([*_rows(manifest, kept, where(chosen), size), _point(held), ("Writer", writer)]))
        put([Line(), Line.of(("Generations", "bold"))])
        put(_generation(each, current=each is manifest) for each in kept)
        if volumes != [UNNAMED]:
            put([Line(), Line.of(("Books", "bold"))])
            put(Line.of(str(volume) or "(without a name)", indent=2) for volume in volumes)
        put([Line(), Line.of(("Chapters", "bold"))])
        put(_chapter(chapter) for chapter in manifest.chapters)


def _rows(manifest: Manifest, kept: list[Manifest], place: str, size: int | None) -> list[tuple[str, str]]:
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
    return rows if size is None else [*rows, ("On disk", show.sized(size))]


async def _books(parts: Parts, chosen: settings.Settings, volumes: list[Volume]) -> dict[Volume, Manifest]:
    """What each book and edition says of itself."""
    return {volume: (await parts.store(chosen.naming(volume)).generations())[0] for volume in volumes}


def overview(books: dict[Volume, Manifest], as_json: bool) -> None:
    """Print which books and editions there are."""
    if as_json:
        put_json({"books": [{"name": str(volume), **canonical.manifest(books[volume])} for volume in books]})
        return
    put(show.table([(volume.options or "(without a name)", _about(books[volume])) for volume in books]))


def _about(manifest: Manifest) -> str:
    counts = f"{show.counted(manifest.pages, 'page')}, {show.counted(manifest.chunks, 'chunk')}"
    return f"{manifest.title} ({counts}, {manifest.created})"


def _generation(manifest: Manifest, current: bool) -> Line:
    told = f"  {manifest.created}, {show.counted(manifest.chunks, 'chunk')}{', published' if current else ''}"
    return Line.of(manifest.generation, (told, "dim"), indent=2)


def _point(held: InForce) -> tuple[str, str]:
    return "Operating point", f"answers from {held.point.answered:.2f} on ({held.origin})"


def _chapter(chapter: Chapter) -> Line:
    counts = f"{show.counted(chapter.pages, 'page')}, {show.counted(chapter.chunks, 'chunk')}"
    return Line.of(chapter.title or "(none)", (f"  {counts}", "dim"), indent=2)


def _size(folder: Path) -> int:
    """What the files take up; the engine's are much larger by name, being mostly holes."""
    return sum(file.stat().st_blocks * 512 for file in folder.rglob("*") if file.is_file())
