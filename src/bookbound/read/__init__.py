"""A book's source becomes pages: what a reader sees, and where each character of it stands."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from bookbound.book import Manuscript
from bookbound.errors import BadSource
from bookbound.read import decode, files, prints
from bookbound.read.kinds import reader_for
from bookbound.read.reasons import reasons

__all__ = ["READER", "read"]

READER = "3"
"""The version of all readers: what an older one read may come out otherwise."""


def read(source: Path, kind: str | None = None, edition: str | None = None) -> Manuscript:
    """The book at `source`, a folder or one file, read as one of the `kind` or as what it looks like.

    Where the source holds several editions, the named one is read; else an edition is only the name it is kept under.
    """
    _check(source)
    with decode.opened() as opened:
        reader = reader_for(source, kind)
        editions = reader.editions(source)
        if edition is not None and edition not in editions and len(editions) > 1:
            raise BadSource(f"It holds no such edition: choose one of {', '.join(editions)}.")
        book = reader.read(source, edition) if edition in editions else reader.read(source)
    if not book.pages:
        raise BadSource(
            f"No page was found of a book of the kind {book.kind}: name the folder that holds its pages,"
            f" not a hidden or a built one.{reasons(book.notices)}"
        )
    return replace(book, beside=prints.beside(source, opened))


def _check(source: Path) -> None:
    """A source is a file whose name can be written down, or a folder that holds something."""
    try:
        if source.is_file():
            if files.shown(Path(source.name)) != source.name:
                raise BadSource("The name of the file is not UTF-8: rename it.")
            return
        if not source.is_dir():
            raise BadSource("There is no such file or folder: name the folder that holds the book's pages.")
        if next(source.iterdir(), None) is None:
            raise BadSource("The folder is empty: name the folder that holds the book's pages.")
    except OSError as error:
        raise BadSource("The folder cannot be opened: allow reading it.") from error
