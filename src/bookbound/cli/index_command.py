"""Implements the command `index`, and indexes again when the source changes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Annotated

import typer

from bookbound.cli import options, terminal
from bookbound.cli.book_access import Bootstrap, describe_location, format_book_options, require_folder
from bookbound.cli.exit_codes import EXIT_PAGES_LOST, exit_on_error, prefix_source_errors, print_error
from bookbound.cli.source_watch import watch_changes
from bookbound.contracts.serialization import serialize_manifest
from bookbound.domain.errors import BookboundError, ConfigError, IndexLockedError, ServiceError
from bookbound.settings import Settings, load_settings

if TYPE_CHECKING:
    from bookbound.indexing.pipeline import IndexingResult

CHANGE_NAMES = ("added", "changed", "renamed", "removed")
MAX_LISTED_PAGES = 20
TitleOption = Annotated[
    str | None, typer.Option("--title", metavar="TITLE", help="The title, if that of the source is missing or wrong.")
]
ForceIndexOption = Annotated[
    bool, typer.Option("--force", help="Index everything again, even if most of the book is gone.")
]
DryRunOption = Annotated[bool, typer.Option("--dry-run", help="Show what would change, and change nothing.")]
WatchOption = Annotated[bool, typer.Option("--watch", help="Index again whenever the source changes, until Ctrl-C.")]


def index(
    ctx: typer.Context,
    source: options.SourceArgument = None,
    site: options.SiteOption = None,
    from_qdrant: options.CollectionOption = None,
    fields: options.FieldOption = None,
    index: options.IndexOption = None,
    book: options.BookOption = None,
    edition: options.EditionOption = None,
    title: TitleOption = None,
    source_format: options.SourceFormatOption = None,
    force: ForceIndexOption = False,
    dry_run: DryRunOption = False,
    watch: WatchOption = False,
    as_json: options.JsonOption = False,
) -> None:
    """Index a book. If it is indexed already, index only what changed.

    Readers keep the old index until the new one is complete. The exit code is 5 if the index lacks pages or words that
    could not be read, each time until the source is mended.
    """
    with exit_on_error(as_json):
        settings = load_settings(index=index, book=book, edition=edition, title=title)
        target = options.choose_source(source, site, from_qdrant, fields, ctx.info_name)
        if watch and isinstance(target, str):
            raise ConfigError("Only a folder or file can be watched. Index it again from time to time.")
        if watch and dry_run:
            raise ConfigError("Use either --watch or --dry-run, not both.")
        result, seconds = index_with_progress(
            ctx.obj, target, settings, kind=source_format, force=force, dry_run=dry_run
        )
        print_index_result(result, seconds, settings, as_json)
        if watch and isinstance(target, Path):
            watch_source(ctx.obj, target, settings, source_format, result, as_json)
    raise typer.Exit(EXIT_PAGES_LOST if result.has_lost_text else 0)


def index_with_progress(
    bootstrap: Bootstrap,
    source: Path | str,
    settings: Settings,
    *,
    kind: str | None = None,
    force: bool = False,
    dry_run: bool = False,
) -> tuple[IndexingResult, float]:
    """Index the book with progress bars; returns the result and the seconds it took."""
    require_folder(settings)
    start = perf_counter()
    with (
        prefix_source_errors(source),
        terminal.show_progress({"read": "Read", "split": "Split", "embed": "Embed"}) as progress,
    ):
        result = bootstrap.index_book(source, settings, progress, kind=kind, force=force, dry_run=dry_run)
    return result, perf_counter() - start


def print_index_result(result: IndexingResult, seconds: float, settings: Settings, as_json: bool) -> None:
    if as_json:
        terminal.print_json(
            serialize_manifest(result.manifest)
            | {
                "changes": {name: getattr(result.changes, name) for name in CHANGE_NAMES},
                "unchanged": len(result.changes.unchanged),
                "embedded": result.embedded_chunks,
                "published": result.is_published,
                "notices": [notice._asdict() for notice in result.notices],
                "seconds": round(seconds, 2),
            }
        )
        return
    _print_notices(result)
    terminal.print_lines(terminal.format_table(_build_summary_rows(result, seconds, settings)))
    if result.changes and not result.is_published:
        terminal.print_lines([terminal.BLANK_LINE, *_format_pending_changes(result)])
    elif result.manifest.generation:
        terminal.print_lines([terminal.BLANK_LINE])
        terminal.print_line("Next: ", (f'bookbound ask "your question"{format_book_options(settings)}', "bold"))


def _print_notices(result: IndexingResult) -> None:
    for file, message, _ in result.notices:
        terminal.print_warning(f"{file}: {message}")


def _build_summary_rows(result: IndexingResult, seconds: float, settings: Settings) -> list[tuple[str, str]]:
    manifest = result.manifest
    embedded = f" ({result.embedded_chunks} embedded now)" if result.is_published else ""
    state = ", as published" if result.changes and not result.is_published else ""
    rows = [
        ("Book", manifest.title),
        ("Name", settings.book_ref.cli_options),
        ("Format", manifest.kind),
        ("Pages", f"{manifest.pages}{state}" if manifest.generation else ""),
        ("Chunks", f"{manifest.chunks}{embedded}{state}" if manifest.generation else ""),
        ("Changes", describe_changes(result)),
        ("Missing", _describe_missing(result)),
        ("Seconds", f"{seconds:.1f}"),
        ("Index", describe_location(settings)),
    ]
    return [(name, value) for name, value in rows if value]


def describe_changes(result: IndexingResult) -> str:
    """What changed, in a few words."""
    files = {name: getattr(result.changes, name) for name in CHANGE_NAMES}
    # A PDF changes by chapters, which are not what its readers call pages.
    noun = "page" if result.manifest.pages == len(result.manifest.page_fingerprints) else "part"
    summary = ", ".join(
        f"{terminal.format_count(len(files[name]), noun)} {name}" for name in CHANGE_NAMES if files[name]
    )
    if result.is_published:
        return summary or "none; indexed again"
    return f"{summary}; not published (dry run)" if summary else "none; the published index stays as it is"


def _describe_missing(result: IndexingResult) -> str:
    files = {notice.file for notice in result.notices if notice.lost}
    return (
        f"words of {terminal.format_count(len(files), 'file')}; see the warnings (exit code {EXIT_PAGES_LOST})"
        if files
        else ""
    )


def _format_pending_changes(result: IndexingResult) -> Iterator[terminal.StyledLine]:
    for name in CHANGE_NAMES:
        files = getattr(result.changes, name)
        shown = [f"{old} -> {new}" for new, old in files.items()] if name == "renamed" else list(files)
        more = [f"and {len(shown) - MAX_LISTED_PAGES} more"] if len(shown) > MAX_LISTED_PAGES else []
        yield from (terminal.styled((f"{name:>8}  ", "dim"), file) for file in shown[:MAX_LISTED_PAGES] + more)


def watch_source(
    bootstrap: Bootstrap, source: Path, settings: Settings, kind: str | None, last: IndexingResult, as_json: bool
) -> None:
    """Index again after each change until Ctrl-C; an error is reported, and the next change is awaited.

    What only another process or a service prevents is tried again.
    """
    from bookbound.sources.fingerprints import source_stat_signature

    terminal.print_to_stderr((f"Watching {source} (Ctrl-C ends)", "dim"))
    signature: object = None
    is_pending, problem = False, ""
    for has_changed in watch_changes(source, settings.index):
        old_signature, signature = signature, source_stat_signature(source, last.manifest.outside_files)
        if signature == old_signature and not has_changed and not is_pending:
            continue
        try:
            result, seconds = index_with_progress(bootstrap, source, settings, kind=kind)
        except BookboundError as error:
            if str(error) != problem:
                print_error(error, as_json)
            is_pending, problem = isinstance(error, IndexLockedError | ServiceError), str(error)
            continue
        is_pending, problem = False, ""
        if not as_json and result.notices != last.notices:
            _print_notices(result)
        last = result
        if result.is_published and as_json:
            print_index_result(result, seconds, settings, as_json)
        elif result.is_published:
            terminal.print_line(f"Published {result.manifest.generation}: {describe_changes(result)}")
        terminal.flush_stdout()
