"""A book's source becomes pages: what a reader sees, and where each character of it stands."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from bookbound.book import Manuscript
from bookbound.errors import BadSource
from bookbound.read import files
from bookbound.read.docusaurus import read_docusaurus
from bookbound.read.docusaurus_config import find_site
from bookbound.read.folder import MARKDOWN_SUFFIXES, TEXT_SUFFIXES, read_folder, read_page

__all__ = ["read"]

_LOOKED_FOR = "pages that end in .md, .mdx, .markdown, .rst or .txt"
_REASONS = 3


def read(source: Path) -> Manuscript:
    """The book at `source`, a folder or one file: a Docusaurus site, Markdown, or plain text."""
    try:
        if source.is_file():
            return _read_file(source)
        if not source.is_dir():
            raise BadSource("There is no such file or folder: name the folder that holds the book's pages.")
        empty = next(source.iterdir(), None) is None
    except OSError as error:
        raise BadSource("The folder cannot be opened: allow reading it.") from error
    if empty:
        raise BadSource(f"The folder is empty: name one with {_LOOKED_FOR}.")
    return _read_folder(source)


def _read_folder(source: Path) -> Manuscript:
    site, odd = find_site(source)
    book = read_docusaurus(source, site) if site else None
    if book is None or not (book.pages or book.notices):
        book = read_folder(source)
    book = replace(book, notices=(*odd, *book.notices))
    if not book.pages:
        reasons = "".join(f" {file}: {message}." for file, message, _ in book.notices[:_REASONS])
        raise BadSource(
            f"No page was found: the reader looked for {_LOOKED_FOR}, outside of hidden and built folders.{reasons}"
        )
    return book


def _read_file(source: Path) -> Manuscript:
    if source.suffix.lower() not in MARKDOWN_SUFFIXES | TEXT_SUFFIXES:
        raise BadSource(f"A file of this kind cannot be read: the reader knows {_LOOKED_FOR}.")
    if files.shown(Path(source.name)) != source.name:
        raise BadSource("The name of the file is not UTF-8: rename it.")
    page, notices = read_page(source, Path(source.name), Path(), 0)
    if page is None:
        raise BadSource(f"The file shows no words: {notices[0].message}.")
    kind = "markdown" if source.suffix.lower() in MARKDOWN_SUFFIXES else "text"
    return Manuscript(page.title, kind, (page,), tuple(notices))
