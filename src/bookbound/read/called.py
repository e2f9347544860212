"""What a book in one file is called."""

from __future__ import annotations

from pathlib import Path

from bookbound.read import files
from bookbound.read.titles import LONGEST

# What programs write where the author named no book.
_NO_BOOK = frozenset(("", "untitled", "unknown", "contents", "table of contents", "title", "cover"))


def called(title: str, source: Path) -> str:
    """The title that a file gives itself, or its name where that is no title."""
    words = " ".join(title.split())[:LONGEST]
    return words if words.casefold() not in _NO_BOOK else files.readable(files.shown(Path(source.stem)))
