"""Implements the command `index`, and indexes again when the source changes."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from time import perf_counter, sleep
from typing import TYPE_CHECKING, Annotated, Any

import typer

from bookbound import settings
from bookbound.cli import terminal
from bookbound.cli.common import (
    EXIT_PAGES_LOST,
    BookOption,
    Bootstrap,
    EditionOption,
    IndexOption,
    JsonOption,
    SiteOption,
    SourceArgument,
    SourceFormatOption,
    describe_index_location,
    exit_on_error,
    format_book_options,
    require_folder,
)
from bookbound.cli.common import print_error as tell_trouble
from bookbound.cli.terminal import StyledLine, flush_stdout, print_json, print_lines, print_to_stderr, show_progress
from bookbound.contracts import serialization
from bookbound.domain.errors import BookboundError, ConfigError, SourceError
from bookbound.sources.fingerprints import source_stat_signature

if TYPE_CHECKING:
    from bookbound.indexing.pipeline import IndexingResult


MAX_LISTED_PAGES = 20
"""How many pages of a kind of change are named."""
ForceIndexOption = Annotated[
    bool, typer.Option("--force", help="Make it anew, also where a good part of the book is gone.")
]
DryRunOption = Annotated[bool, typer.Option("--dry-run", help="Say what would change, and change nothing.")]
WatchOption = Annotated[
    bool, typer.Option("--watch", help="Go on: index again whenever the source changes, until Ctrl-C.")
]


def index(
    ctx: typer.Context,
    source: SourceArgument = None,
    site: SiteOption = None,
    index: IndexOption = None,
    book: BookOption = None,
    edition: EditionOption = None,
    kind: SourceFormatOption = None,
    force: ForceIndexOption = False,
    dry_run: DryRunOption = False,
    watch: WatchOption = False,
    as_json: JsonOption = False,
) -> None:
    """Read a book and make its index; what has not changed since is taken over.

    Readers keep the old index until the new one is whole. Ends with 5 where pages could not be read and the rest is
    indexed.
    """
    with exit_on_error(as_json):
        chosen = settings.load_settings(index=index, book=book, edition=edition)
        target = _choose_source(source, site, watch, dry_run)
        indexed, seconds = index_with_progress(ctx.obj, target, chosen, kind=kind, force=force, dry_run=dry_run)
        print_index_result(indexed, seconds, chosen, as_json)
        if watch and isinstance(target, Path):
            watch_source(ctx.obj, target, chosen, kind, indexed, as_json)
    raise typer.Exit(EXIT_PAGES_LOST if indexed.lost else 0)


def _choose_source(source: Path | None, site: str | None, watch: bool, dry_run: bool) -> Path | str:
    if (source is None) == (site is None):
        raise ConfigError("Name what to index: a folder or a file, or a site with --site URL, and not both.")
    if site and watch:
        raise ConfigError("A site cannot be watched. Index it again from time to time: what is the same is taken over.")
    if watch and dry_run:
        raise ConfigError("Whoever watches publishes each change, and a dry run publishes none: give one of the two.")
    return source or site or ""


def index_with_progress(
    parts: Bootstrap,
    source: Path | str,
    chosen: settings.Settings,
    *,
    kind: str | None = None,
    force: bool = False,
    dry_run: bool = False,
) -> tuple[IndexingResult, float]:
    """Index the book with progress bars; what came of it, and the seconds it took."""
    require_folder(chosen)
    start = perf_counter()
    try:
        with show_progress() as progress:
            indexed = parts.index_book(source, chosen, progress, kind=kind, force=force, dry_run=dry_run)
    except SourceError as trouble:
        if isinstance(source, str):
            raise  # an address may hold a password
        raise type(trouble)(f"{source}: {trouble}") from trouble
    return indexed, perf_counter() - start


def print_index_result(indexed: IndexingResult, seconds: float, chosen: settings.Settings, as_json: bool) -> None:
    """Print what came of indexing."""
    changes = indexed.changes
    if as_json:
        became = {name: getattr(changes, name) for name in ("added", "changed", "removed", "renamed")}
        counts = {"unchanged": len(changes.unchanged), "embedded": indexed.embedded, "published": indexed.published}
        notices = [notice._asdict() for notice in indexed.notices]
        about = serialization.serialize_manifest(indexed.manifest)
        print_json({**about, "changes": became, **counts, "notices": notices, "seconds": round(seconds, 2)})
        return
    print_to_stderr(terminal.format_warning(f"{file}: {message}") for file, message, _ in indexed.notices)
    print_lines(terminal.format_table(_build_summary_rows(indexed, seconds, chosen)))
    if indexed.changes and not indexed.published:
        print_lines([StyledLine(), *_format_pending_changes(indexed)])
    elif indexed.manifest.generation:
        print_lines(
            [
                StyledLine(),
                StyledLine.of("Next: ", (f'bookbound ask "your question"{format_book_options(chosen)}', "bold")),
            ]
        )


def _build_summary_rows(indexed: IndexingResult, seconds: float, chosen: settings.Settings) -> list[tuple[str, str]]:
    manifest = indexed.manifest
    embedded = f" ({indexed.embedded} embedded now)" if indexed.published else ""
    now = ", as published" if indexed.changes and not indexed.published else ""
    rows = [
        ("Book", manifest.title),
        ("Name", chosen.volume.options),
        ("Kind", manifest.kind),
        ("Pages", f"{manifest.pages}{now}" if manifest.generation else ""),
        ("Chunks", f"{manifest.chunks}{embedded}{now}" if manifest.generation else ""),
        ("Changes", describe_changes(indexed)),
        ("Seconds", f"{seconds:.1f}"),
        ("Index", describe_index_location(chosen)),
    ]
    return [(name, value) for name, value in rows if value]


def describe_changes(indexed: IndexingResult) -> str:
    """What changed, in a few words."""
    changes = indexed.changes
    counts = {
        "added": changes.added,
        "changed": changes.changed,
        "renamed": changes.renamed,
        "removed": changes.removed,
    }
    words = ", ".join(f"{terminal.format_count(len(files), 'page')} {name}" for name, files in counts.items() if files)
    if indexed.published:
        return words or "none; made anew"
    return f"{words}, and not published: a dry run" if words else "none; the published index stays as it is"


def _format_pending_changes(indexed: IndexingResult) -> Iterator[StyledLine]:
    """The pages that would change, by name."""
    changes = indexed.changes
    renamed = tuple(f"{before} -> {now}" for now, before in changes.renamed.items())
    for name in ("added", "changed", "renamed", "removed"):
        files = renamed if name == "renamed" else getattr(changes, name)
        yield from (StyledLine.of((f"{name:>8}  ", "dim"), file) for file in files[:MAX_LISTED_PAGES])
        if len(files) > MAX_LISTED_PAGES:
            yield StyledLine.of((f"{name:>8}  ", "dim"), f"and {len(files) - MAX_LISTED_PAGES} more")


POLL_MILLISECONDS = 1000
"""The milliseconds after which there is a look without a sign."""


def watch_source(
    parts: Bootstrap, source: Path, chosen: settings.Settings, kind: str | None, last: IndexingResult, as_json: bool
) -> None:
    """Index again after each change, until Ctrl-C; what goes wrong is told, and the next change waited for."""
    print_to_stderr([StyledLine.of((f"Watching {source} (Ctrl-C ends)", "dim"))])
    seen: object = None
    for changed in _poll_changes(source, chosen):
        if (now := source_stat_signature(source, last.manifest.beside)) == seen and not changed:
            continue
        seen = now
        try:
            indexed, seconds = index_with_progress(parts, source, chosen, kind=kind)
        except BookboundError as trouble:
            tell_trouble(trouble, as_json)
            continue
        if not as_json and indexed.notices and indexed.notices != last.notices:
            print_to_stderr(terminal.format_warning(f"{file}: {message}") for file, message, _ in indexed.notices)
        last = indexed
        if not indexed.published:
            continue
        if as_json:
            print_index_result(indexed, seconds, chosen, as_json)
        else:
            print_lines([StyledLine.of(f"Published {indexed.manifest.generation}: {describe_changes(indexed)}")])
        flush_stdout()


def _poll_changes(source: Path, chosen: settings.Settings) -> Iterator[bool]:
    """A look at each change below a source, and from time to time without one: whether there was a change.

    A file is replaced by whoever saves it, and a folder may be: what stood there before gives no more signs.
    """
    from watchfiles import watch

    whole = source.is_dir()
    folder = source if whole else source.parent
    own = _SourceChangeFilter(folder, chosen.index)
    while True:
        if not folder.is_dir():
            sleep(POLL_MILLISECONDS / 1000)
            yield False
            continue
        stood, fresh = folder.stat().st_ino, True  # something may have changed before anybody watched
        for changes in watch(
            folder,
            watch_filter=own,
            recursive=whole,
            raise_interrupt=True,
            yield_on_timeout=True,
            rust_timeout=POLL_MILLISECONDS,
        ):
            yield whole and (fresh or bool(changes))
            fresh = False
            if not folder.is_dir() or folder.stat().st_ino != stood:
                break


class _SourceChangeFilter:
    """Whether a change is one of the book's: the index may lie within the source."""

    def __init__(self, folder: Path, index: Path) -> None:
        self._folder, self._own = folder.resolve(), index.resolve()

    def __call__(self, change: Any, path: str) -> bool:
        inside = Path(os.path.relpath(os.path.realpath(path), self._folder))
        return not any(part.startswith(".") for part in inside.parts) and not Path(path).is_relative_to(self._own)
