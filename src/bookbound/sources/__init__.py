"""Reads a book from a folder, a file or a website into pages of visible text."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from bookbound.domain.document import ParsedBook
from bookbound.domain.errors import SourceError
from bookbound.sources import file_loader, files, fingerprints
from bookbound.sources.detect import detect_reader

__all__ = ["READER_VERSION", "parse_book"]
READER_VERSION = "7"
"""Changes when any reader reads an unchanged source differently."""


def parse_book(
    source: Path | str,
    kind: str | None = None,
    edition: str | None = None,
    *,
    allowed_hosts: Sequence[str] = (),
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> ParsedBook:
    """Read the book at a path, as the given `kind` or as what it looks like, or crawl the website at a URL.

    If the source contains several editions, read the named one. A crawl reaches public hosts and the `allowed_hosts`,
    and reports its `progress` in pages.
    """
    if isinstance(source, str):
        from bookbound.sources.crawl import crawl_site

        return crawl_site(source, allowed_hosts, progress)
    _check_source(source)
    with file_loader.record_opened_paths() as opened:
        reader = detect_reader(source, kind)
        editions = reader.editions(source)
        if edition is not None and edition not in editions and len(editions) > 1:
            raise SourceError(f"The source has no such edition. Choose one of {', '.join(editions)}.")
        book = reader.read(source, edition if edition in editions else None)
    if not book.pages:
        raise SourceError(
            f"No page was found; the source was read as {book.kind}. Name the folder that contains the book's pages,"
            f" not a hidden or built one, or its --source-format.{files.summarize_notices(book.notices)}"
        )
    return replace(book, outside_files=fingerprints.list_outside_files(source, opened))


def _check_source(source: Path) -> None:
    """Raise an error unless the source is a file with a printable name or a folder that is not empty."""
    try:
        if source.is_file():
            if files.printable_path(Path(source.name)) != source.name:
                raise SourceError("The file's name is not UTF-8. Rename the file.")
        elif not source.is_dir():
            raise SourceError("There is no such file or folder. Name the folder that contains the book's pages.")
        elif next(source.iterdir(), None) is None:
            raise SourceError("The folder is empty. Name the folder that contains the book's pages.")
    except OSError as error:
        raise SourceError("The folder cannot be opened. Allow reading it.") from error
