"""Make the index of a book."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Annotated

import typer

from bookbound import settings
from bookbound.cli import show
from bookbound.cli.outcome import LOST, told
from bookbound.cli.parts import AsJson, BookName, EditionName, IndexFolder, Kind, Parts, Site, Source
from bookbound.cli.place import check, option, where
from bookbound.cli.progress import bars
from bookbound.cli.screen import Line, note, put, put_json
from bookbound.errors import BadSetup, BadSource
from bookbound.faces import canonical

NAMED = 20
"""How many pages of a kind of change are named."""

if TYPE_CHECKING:
    from bookbound.ingest import Indexed

Force = Annotated[bool, typer.Option("--force", help="Make it anew, also where a good part of the book is gone.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Say what would change, and change nothing.")]
Watch = Annotated[bool, typer.Option("--watch", help="Go on: index again whenever the source changes, until Ctrl-C.")]


def index(
    ctx: typer.Context,
    source: Source = None,
    site: Site = None,
    index: IndexFolder = None,
    book: BookName = None,
    edition: EditionName = None,
    kind: Kind = None,
    force: Force = False,
    dry_run: DryRun = False,
    watch: Watch = False,
    as_json: AsJson = False,
) -> None:
    """Read a book and make its index; what has not changed since is taken over.

    Readers keep the old index until the new one is whole. Ends with 5 where pages could not be read and the rest is
    indexed.
    """
    with told(as_json):
        chosen = settings.load(index=index, book=book, edition=edition)
        target = _target(source, site, watch, dry_run)
        indexed, seconds = make(ctx.obj, target, chosen, kind=kind, force=force, dry_run=dry_run)
        tell(indexed, seconds, chosen, as_json)
        if watch and isinstance(target, Path):
            from bookbound.cli.watching import follow

            follow(ctx.obj, target, chosen, kind, indexed, as_json)
    raise typer.Exit(LOST if indexed.lost else 0)


def _target(source: Path | None, site: str | None, watch: bool, dry_run: bool) -> Path | str:
    if (source is None) == (site is None):
        raise BadSetup("Name what to index: a folder or a file, or a site with --site URL, and not both.")
    if site and watch:
        raise BadSetup("A site cannot be watched. Index it again from time to time: what is the same is taken over.")
    if watch and dry_run:
        raise BadSetup("Whoever watches publishes each change, and a dry run publishes none: give one of the two.")
    return source or site or ""


def make(
    parts: Parts,
    source: Path | str,
    chosen: settings.Settings,
    *,
    kind: str | None = None,
    force: bool = False,
    dry_run: bool = False,
) -> tuple[Indexed, float]:
    """Index the book with progress bars; what came of it, and the seconds it took."""
    check(chosen)
    start = perf_counter()
    try:
        with bars() as progress:
            indexed = parts.index_book(source, chosen, progress, kind=kind, force=force, dry_run=dry_run)
    except BadSource as trouble:
        if isinstance(source, str):
            raise  # an address may hold a password
        raise type(trouble)(f"{source}: {trouble}") from trouble
    return indexed, perf_counter() - start


def tell(indexed: Indexed, seconds: float, chosen: settings.Settings, as_json: bool) -> None:
    """Print what came of indexing."""
    changes = indexed.changes
    if as_json:
        became = {name: getattr(changes, name) for name in ("added", "changed", "removed", "renamed")}
        counts = {"unchanged": len(changes.unchanged), "embedded": indexed.embedded, "published": indexed.published}
        notices = [notice._asdict() for notice in indexed.notices]
        about = canonical.manifest(indexed.manifest)
        put_json({**about, "changes": became, **counts, "notices": notices, "seconds": round(seconds, 2)})
        return
    note(show.warning(f"{file}: {message}") for file, message, _ in indexed.notices)
    put(show.table(_summary(indexed, seconds, chosen)))
    if indexed.changes and not indexed.published:
        put([Line(), *_would_be(indexed)])
    elif indexed.manifest.generation:
        put([Line(), Line.of("Next: ", (f'bookbound ask "your question"{option(chosen)}', "bold"))])


def _summary(indexed: Indexed, seconds: float, chosen: settings.Settings) -> list[tuple[str, str]]:
    manifest = indexed.manifest
    embedded = f" ({indexed.embedded} embedded now)" if indexed.published else ""
    now = ", as published" if indexed.changes and not indexed.published else ""
    rows = [
        ("Book", manifest.title),
        ("Name", chosen.volume.options),
        ("Kind", manifest.kind),
        ("Pages", f"{manifest.pages}{now}" if manifest.generation else ""),
        ("Chunks", f"{manifest.chunks}{embedded}{now}" if manifest.generation else ""),
        ("Changes", told_changes(indexed)),
        ("Seconds", f"{seconds:.1f}"),
        ("Index", where(chosen)),
    ]
    return [(name, value) for name, value in rows if value]


def told_changes(indexed: Indexed) -> str:
    """What changed, in a few words."""
    changes = indexed.changes
    counts = {
        "added": changes.added,
        "changed": changes.changed,
        "renamed": changes.renamed,
        "removed": changes.removed,
    }
    words = ", ".join(f"{show.counted(len(files), 'page')} {name}" for name, files in counts.items() if files)
    if indexed.published:
        return words or "none; made anew"
    return f"{words}, and not published: a dry run" if words else "none; the published index stays as it is"


def _would_be(indexed: Indexed) -> Iterator[Line]:
    """The pages that would change, by name."""
    changes = indexed.changes
    renamed = tuple(f"{before} -> {now}" for now, before in changes.renamed.items())
    for name in ("added", "changed", "renamed", "removed"):
        files = renamed if name == "renamed" else getattr(changes, name)
        yield from (Line.of((f"{name:>8}  ", "dim"), file) for file in files[:NAMED])
        if len(files) > NAMED:
            yield Line.of((f"{name:>8}  ", "dim"), f"and {len(files) - NAMED} more")
