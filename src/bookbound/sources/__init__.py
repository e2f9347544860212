"""Reads a book from a folder or a file into pages of visible text."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from bookbound.domain.document import ParsedBook
from bookbound.domain.errors import SourceError
from bookbound.sources import decoding, files, fingerprints
from bookbound.sources.detect import detect_reader
from bookbound.sources.skipped_files import summarize_notices

__all__ = ["READER_VERSION", "parse_book"]
READER_VERSION = "3"
"""The version of all readers: what an older one read may come out otherwise."""


def parse_book(source: Path, kind: str | None = None, edition: str | None = None) -> ParsedBook:
    """The book at `source`, a folder or one file, read as one of the `kind` or as what it looks like.

    Where the source holds several editions, the named one is read; else an edition is only the name it is kept under.
    """
    _check_source(source)
    with decoding.record_opened_paths() as opened:
        reader = detect_reader(source, kind)
        editions = reader.editions(source)
        if edition is not None and edition not in editions and len(editions) > 1:
            raise SourceError(f"It holds no such edition: choose one of {', '.join(editions)}.")
        book = reader.read(source, edition) if edition in editions else reader.read(source)
    if not book.pages:
        raise SourceError(
            f"No page was found of a book of the kind {book.kind}: name the folder that holds its pages,"
            f" not a hidden or a built one.{summarize_notices(book.notices)}"
        )
    return replace(book, beside=fingerprints.list_outside_files(source, opened))


def _check_source(source: Path) -> None:
    """A source is a file whose name can be written down, or a folder that holds something."""
    try:
        if source.is_file():
            if files.printable_path(Path(source.name)) != source.name:
                raise SourceError("The name of the file is not UTF-8: rename it.")
            return
        if not source.is_dir():
            raise SourceError("There is no such file or folder: name the folder that holds the book's pages.")
        if next(source.iterdir(), None) is None:
            raise SourceError("The folder is empty: name the folder that holds the book's pages.")
    except OSError as error:
        raise SourceError("The folder cannot be opened: allow reading it.") from error
