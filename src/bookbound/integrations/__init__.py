"""Retrievers that give the passages of a book to other frameworks; each module needs the package of its framework."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

import bookbound
from bookbound.domain.chunk import Passage
from bookbound.library import Book
from bookbound.services import build_missing_packages_error

DEFAULT_PASSAGES = 5
Retriever = TypeVar("Retriever")


@contextmanager
def require_framework(extra: str) -> Iterator[None]:
    """Reports a framework that is missing or too old in this block with the command that installs it."""
    try:
        yield
    except ImportError as error:
        raise ImportError(str(build_missing_packages_error("This retriever", extra))) from error


def open_for(
    build: Callable[[Book], Retriever], index: str | Path | None, book: str | None, edition: str | None
) -> Retriever:
    """Opens a book as `bookbound.open` does and builds a retriever of it; if that fails, the book is closed."""
    opened = bookbound.open(index, book=book, edition=edition)
    try:
        return build(opened)
    # Also after Ctrl-C: nobody else has the book, so nobody else could close it.
    except BaseException:
        opened.close()
        raise


def describe_passage(book: Book, passage: Passage) -> dict[str, str | int]:
    """Returns the metadata of a passage: plain values, because many stores can filter by nothing else.

    The span is in characters of the source file. A printed page is only there if the book has them.
    """
    opened, chunk, place = book.pipeline.book, passage.chunk, passage.chunk.place
    metadata: dict[str, str | int] = {
        "url": place.link,
        "book": place.book or opened.name or book.manifest.title,
        "edition": opened.edition,
        "chapter": place.chapter,
        "title": place.title,
        "section": place.section,
        "file": place.file,
        "span_start": place.start,
        "span_end": place.end,
        "chunk_id": chunk.id,
    }
    return metadata if place.page is None else metadata | {"page": place.page}
