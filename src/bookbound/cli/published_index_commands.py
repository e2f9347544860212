"""Implements the commands `status`, `rollback`, `export` and `import` for a published index."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Annotated

import typer

from bookbound import filesystem
from bookbound.cli import terminal
from bookbound.cli.book_access import Bootstrap, describe_location, explain_missing_index, format_operating_point
from bookbound.cli.exit_codes import exit_on_error, prefix_source_errors
from bookbound.cli.options import BookOption, EditionOption, IndexOption, JsonOption, parse_path
from bookbound.contracts.serialization import JsonObject, serialize_manifest
from bookbound.domain.book_ref import UNNAMED_BOOK, BookRef
from bookbound.domain.errors import BookIndexError, ConfigError
from bookbound.domain.manifest import Manifest
from bookbound.settings import COMMAND_LINE_ORIGIN, SECRET_SUFFIXES, Settings, find_origins, load_settings


def status(
    ctx: typer.Context,
    index: IndexOption = None,
    book: BookOption = None,
    edition: EditionOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show the indexed book, its size and generations, the other books, and where each setting comes from."""
    with exit_on_error(as_json, index=index):
        settings = load_settings(index=index, book=book, edition=edition)
        with explain_missing_index(settings):
            found = asyncio.run(_load_status(ctx.obj, settings))
        found["settings"] = _list_settings(settings, find_origins(index=index, book=book, edition=edition))
        terminal.print_result(found, _format_status(found) if "title" in found else _format_books(found), as_json)


async def _load_status(bootstrap: Bootstrap, settings: Settings) -> JsonObject:
    """The published index of the book, or all books if each has a name and the settings choose none."""
    books = await bootstrap.list_books(settings)
    described = [await _describe_book(bootstrap, settings, each) for each in books]
    if books and settings.book_ref == UNNAMED_BOOK and UNNAMED_BOOK not in books:
        return {"books": described}
    settings = await bootstrap.resolve_book_settings(settings)
    generations = await bootstrap.build_store(settings).generations()
    settings = bootstrap.build_book_settings(settings)
    point = bootstrap.load_operating_point(settings, generations[0])
    return serialize_manifest(generations[0]) | {
        "location": describe_location(settings),
        "bytes": None if settings.qdrant_url else filesystem.disk_usage(settings.index / "generations"),
        "generations": [
            {"generation": each.generation, "created": each.created, "chunks": each.chunks} for each in generations
        ],
        "operating_point": {**point.point.to_json(), "origin": point.origin},
        "writer": bootstrap.writer_name(settings),
        "books": described,
    }


async def _describe_book(bootstrap: Bootstrap, settings: Settings, book: BookRef) -> JsonObject:
    """The name of a book and its published index, or why that cannot be read."""
    try:
        generations = await bootstrap.build_store(settings.with_book(book)).generations()
    except BookIndexError as error:
        return {"name": str(book), "error": str(error)}
    return {"name": str(book), **serialize_manifest(generations[0])}


def _list_settings(settings: Settings, origins: dict[str, str]) -> JsonObject:
    """The origin of each setting that is set, and its value unless it is secret."""
    found: JsonObject = {name: {"origin": origin} for name, origin in sorted(origins.items())}
    for name in found:
        if not name.endswith(SECRET_SUFFIXES):
            value = getattr(settings, name)
            found[name]["value"] = str(value) if isinstance(value, Path) else value
    return found


def _format_status(found: JsonObject) -> Iterator[terminal.StyledLine]:
    generations = found["generations"]
    rows = [
        ("Book", found["title"]),
        ("Format", found["kind"]),
        ("Pages", str(found["pages"])),
        ("Chunks", str(found["chunks"])),
        ("Embedder", found["embedder"]),
        ("Generation", f"{found['generation']} ({len(generations)} kept)"),
        ("Created", found["created"]),
        ("Index", found["location"]),
        ("On disk", "" if found["bytes"] is None else terminal.format_bytes(found["bytes"])),
        *format_operating_point(found["operating_point"]),
        ("Writer", found["writer"]),
    ]
    yield from terminal.format_table([row for row in rows if row[1]])
    sections = {
        "Generations": [
            (
                each["generation"],
                f"{each['created']}, {terminal.format_count(each['chunks'], 'chunk')}{', published' * (not i)}",
            )
            for i, each in enumerate(generations)
        ],
        "Books": _list_books(found["books"]) if len(found["books"]) > 1 else [],
        "Chapters": [(each["title"] or "(none)", _format_counts(each)) for each in found["chapters"]],
        "Settings": _format_settings(found),
    }
    yield from _format_sections(sections)


def _format_sections(sections: Mapping[str, list[tuple[str, str]]]) -> Iterator[terminal.StyledLine]:
    for title, entries in sections.items():
        if entries:
            yield terminal.BLANK_LINE
            yield terminal.styled((title, "bold"))
        yield from (terminal.styled(text, (f"  {details}".rstrip(), "dim"), indent=2) for text, details in entries)


def _format_books(found: JsonObject) -> Iterator[terminal.StyledLine]:
    yield from terminal.format_table(_list_books(found["books"]))
    yield from _format_sections({"Settings": _format_settings(found)})


def _list_books(books: list[JsonObject]) -> list[tuple[str, str]]:
    return [
        (
            BookRef.parse(each["name"]).cli_options or "(without a name)",
            each.get("error") or f"{each['title']} ({_format_counts(each)}, {each['created']})",
        )
        for each in books
    ]


def _format_settings(found: JsonObject) -> list[tuple[str, str]]:
    """Each setting that is set, and where its value comes from."""
    rows = []
    for name, setting in found["settings"].items():
        value, article = setting.get("value", "(hidden)"), "the " * (setting["origin"] == COMMAND_LINE_ORIGIN)
        shown = ", ".join(value) if isinstance(value, tuple) else value
        rows.append((f"{name} = {shown}", f"from {article}{setting['origin']}"))
    return rows


def _format_counts(counted: JsonObject) -> str:
    return f"{terminal.format_count(counted['pages'], 'page')}, {terminal.format_count(counted['chunks'], 'chunk')}"


def rollback(
    ctx: typer.Context,
    to: Annotated[
        str, typer.Option("--to", metavar="GENERATION", help="The id of an earlier generation, as `status` lists it.")
    ] = "",
    index: IndexOption = None,
    book: BookOption = None,
    edition: EditionOption = None,
    as_json: JsonOption = False,
) -> None:
    """Publish the previous index again, or an earlier one; running servers switch to it by themselves."""
    with exit_on_error(as_json, index=index):
        settings = load_settings(index=index, book=book, edition=edition)
        with explain_missing_index(settings):
            withdrawn, manifest = asyncio.run(_roll_back(ctx.obj, settings, to))
        details = f"  {manifest.created}, {terminal.format_count(manifest.chunks, 'chunk')}"
        published = terminal.styled("Published: ", (manifest.generation, "bold"), (details, "dim"))
        lines = [terminal.styled("Withdrawn: ", withdrawn), published]
        terminal.print_result(serialize_manifest(manifest) | {"withdrawn": withdrawn}, lines, as_json)


async def _roll_back(bootstrap: Bootstrap, settings: Settings, to: str) -> tuple[str, Manifest]:
    store = bootstrap.build_store(await bootstrap.resolve_book_settings(settings))
    return await store.published_generation(), await store.roll_back(to)


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
