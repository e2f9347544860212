"""Chooses the titles of pages and books."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

from bookbound.domain.document import Page
from bookbound.sources import files
from bookbound.sources.page_builder import RenderedPage

MAX_TITLE_CHARS = 1_000
"""A heading with more characters is a paragraph."""
_GENERIC_TITLES = {*"introduction intro welcome overview home preface about readme index".split(), "getting started"}
_PLACEHOLDER_TITLES = frozenset(("", "untitled", "unknown", "contents", "table of contents", "title", "cover"))


def find_first_title(page: RenderedPage | Page) -> str:
    """Return a page's first heading of level 1."""
    return next((page.text[b.start : b.end] for b in page.blocks if b.kind == "heading" and b.level == 1), "")


def choose_book_title(root: Path, openings: Iterable[RenderedPage | Page]) -> str:
    """Return the first title of the `openings` that can be a book's, else the folder's name."""
    found = map(find_first_title, openings)
    specific = (title for title in found if title and title.lower() not in _GENERIC_TITLES)
    return next(specific, humanize_name(files.printable_path(Path(root.resolve().name))))


def fallback_title(title: str, source: Path) -> str:
    """Return the title that a file gives itself, or the file's name if that title is a placeholder."""
    words = " ".join(title.split())[:MAX_TITLE_CHARS]
    is_placeholder = words.casefold() in _PLACEHOLDER_TITLES
    return humanize_name(files.printable_path(Path(source.stem))) if is_placeholder else words


def humanize_name(name: str) -> str:
    """Turn a file's or folder's name into words."""
    words = re.sub(r"^\d+[-_. ]+(?=\D)", "", name)
    words = re.sub(r"[-_\s]+", " ", words).strip() or name
    return words[:1].upper() + words[1:]
