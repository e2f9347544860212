"""Make the index of a book."""

from __future__ import annotations

from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Annotated

import typer

from bookbound import settings
from bookbound.cli import show
from bookbound.cli.outcome import told
from bookbound.cli.parts import AsJson, IndexFolder, Parts
from bookbound.cli.place import check, named, option, where
from bookbound.cli.progress import bars
from bookbound.cli.screen import Line, note, put, put_json
from bookbound.errors import BadSource
from bookbound.faces import canonical

if TYPE_CHECKING:
    from bookbound.ingest import Indexed

Source = Annotated[Path, typer.Argument(metavar="SOURCE", parser=named, help="The folder or file that holds the book.")]


def index(ctx: typer.Context, source: Source, index: IndexFolder = None, as_json: AsJson = False) -> None:
    """Read a book and make its index. Readers keep the old index until the new one is whole."""
    with told(as_json):
        chosen = settings.load(index=index)
        indexed, seconds = make(ctx.obj, source, chosen)
        if as_json:
            notices = [notice._asdict() for notice in indexed.notices]
            put_json({**canonical.manifest(indexed.manifest), "notices": notices, "seconds": round(seconds, 2)})
            return
        note(show.warning(f"{file}: {message}") for file, message, _ in indexed.notices)
        put(show.table(_summary(indexed, seconds, chosen)))
        put([Line(), Line.of("Next: ", (f'bookbound ask "your question"{option(chosen)}', "bold"))])


def make(parts: Parts, source: Path, chosen: settings.Settings) -> tuple[Indexed, float]:
    """Index the book with progress bars; what was published, and the seconds it took."""
    check(chosen)
    start = perf_counter()
    try:
        with bars() as progress:
            indexed = parts.index_book(source, chosen, progress)
    except BadSource as trouble:
        raise BadSource(f"{source}: {trouble}") from trouble
    return indexed, perf_counter() - start


def _summary(indexed: Indexed, seconds: float, chosen: settings.Settings) -> list[tuple[str, str]]:
    manifest = indexed.manifest
    return [
        ("Book", manifest.title),
        ("Kind", manifest.kind),
        ("Pages", str(manifest.pages)),
        ("Chunks", str(manifest.chunks)),
        ("Seconds", f"{seconds:.1f}"),
        ("Index", where(chosen)),
    ]
