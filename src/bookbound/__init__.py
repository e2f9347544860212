"""Answers readers' questions from one book and nothing else.

with bookbound.open() as book:
    reply = book.ask("What are the three parts of a strain wave gear?")
    print(reply.text, *(citation.place.link for citation in reply.citations), sep="\\n")
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from bookbound.ingest import Indexed
    from bookbound.library import Book

__version__ = "0.1.0"


def open(index: str | Path | None = None) -> Book:  # noqa: A001
    """An indexed book, ready for questions; `index` is the folder that `bookbound index` wrote."""
    from bookbound import settings, wire

    return wire.open_book(settings.load(index=index))


def index(source: str | Path, index: str | Path | None = None) -> Indexed:
    """Index the book at `source` into the folder `index`."""
    from pathlib import Path

    from bookbound import settings, wire

    return wire.index_book(Path(source), settings.load(index=index))
