"""Answers readers' questions from one book and nothing else."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bookbound.domain.question import Turn
from bookbound.domain.reply import Answer, Refusal, Reply, Unsure

if TYPE_CHECKING:
    from pathlib import Path

    from bookbound.indexing.pipeline import IndexingResult
    from bookbound.library import Book


__all__ = ["Answer", "Refusal", "Reply", "Turn", "Unsure", "index", "open"]
__version__ = "0.1.0"


def open(index: str | Path | None = None, *, book: str | None = None, edition: str | None = None) -> Book:  # noqa: A001
    """Opens an indexed book for questions; `index` is the folder that `bookbound index` wrote.

    If the folder holds several books, `book` names one, or `all`. Without an edition, the newest is opened.
    """
    from bookbound import bootstrap, settings

    return bootstrap.open_book(settings.load_settings(index=index, book=book, edition=edition))


def index(source: str | Path, index: str | Path | None = None) -> IndexingResult:
    """Indexes the book at `source` into the folder `index`."""
    from os import PathLike
    from pathlib import Path

    from bookbound import bootstrap, settings
    from bookbound.domain.errors import InvalidInputError

    if not isinstance(source, str | PathLike):
        raise InvalidInputError("The source must be a path: text or a pathlib.Path.")
    return bootstrap.index_book(Path(source), settings.load_settings(index=index))
