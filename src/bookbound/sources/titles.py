"""Chooses the titles of pages and books."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

from bookbound.sources import files
from bookbound.sources.page_builder import RenderedPage

MAX_TITLE_CHARS = 1_000
"""The most characters of a name; a heading of more is a paragraph."""
# What the opening page of any book may be called.
_GENERIC_TITLES = frozenset(
    "introduction|intro|welcome|overview|home|preface|about|readme|index|getting started".split("|")
)


def find_first_title(setting: RenderedPage) -> str:
    """A page's first heading of the first level."""
    return next((setting.text[b.start : b.end] for b in setting.blocks if b.kind == "heading" and b.level == 1), "")


def choose_book_title(root: Path, openings: Iterable[RenderedPage]) -> str:
    """The heading of the first page of `openings` that names a book; else the folder's name."""
    headings = (find_first_title(setting) for setting in openings)
    named = (heading for heading in headings if heading and heading.lower() not in _GENERIC_TITLES)
    return next(named, humanize_name(files.printable_path(Path(root.resolve().name))))


# What programs write where the author named no book.
_PLACEHOLDER_TITLES = frozenset(("", "untitled", "unknown", "contents", "table of contents", "title", "cover"))


def fallback_title(title: str, source: Path) -> str:
    """The title that a file gives itself, or its name where that is no title."""
    words = " ".join(title.split())[:MAX_TITLE_CHARS]
    return (
        words if words.casefold() not in _PLACEHOLDER_TITLES else humanize_name(files.printable_path(Path(source.stem)))
    )


def humanize_name(name: str) -> str:
    """A file's or folder's name as words."""
    words = re.sub(r"^\d+[-_. ]+(?=\D)", "", name)
    words = re.sub(r"[-_\s]+", " ", words).strip() or name
    return words[:1].upper() + words[1:]
