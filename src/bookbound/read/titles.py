"""What a page and a book are called."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from bookbound.read import files
from bookbound.read.galley import Setting

LONGEST = 1_000
"""The most characters of a name; a heading of more is a paragraph."""

# What the opening page of any book may be called.
_NO_BOOK = frozenset("introduction|intro|welcome|overview|home|preface|about|readme|index|getting started".split("|"))


def first_title(setting: Setting) -> str:
    """A page's first heading of the first level."""
    return next((setting.text[b.start : b.end] for b in setting.blocks if b.kind == "heading" and b.level == 1), "")


def book_title(root: Path, openings: Iterable[Setting]) -> str:
    """The heading of the first page of `openings` that names a book; else the folder's name."""
    headings = (first_title(setting) for setting in openings)
    named = (heading for heading in headings if heading and heading.lower() not in _NO_BOOK)
    return next(named, files.readable(files.shown(Path(root.resolve().name))))
