"""The tables of contents of Jupyter Book and MyST."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from bookbound.read.sphinx.toctree import Toctree

_GROUPS = ("parts", "subtrees")
_LISTS = ("chapters", "sections", "entries", "children")
_DEEPEST = 20


@dataclass(slots=True, eq=False)
class Contents:
    """The first page, and the lists of pages that each page leads to; empty where nothing is listed."""

    root: str = ""
    lists: dict[str, list[Toctree]] = field(default_factory=dict)


def contents(read: Any) -> Contents:
    """What a table of contents lists: `_toc.yml` of either format or of the one before them, or the `toc` of MyST."""
    found = Contents()
    if isinstance(read, dict):
        found.root = _text(read, "root")
        _take(found, found.root, read, 0)
    elif isinstance(read, list):
        first = next(((at, item) for at, item in enumerate(read) if _text(item, "file")), None)
        if first:
            at, opening = first
            found.root = _text(opening, "file")
            _take(found, found.root, {**opening, "parts": [*read[:at], *read[at + 1 :]]}, 0)
    return found


def _take(found: Contents, page: str, holder: Any, depth: int) -> None:
    """Note the lists that a page leads to, and those of the pages in them."""
    for caption, items in _lists(holder):
        lines = []
        for item in items if depth < _DEEPEST else ():
            file = _text(item, "file") or (item if isinstance(item, str) else "") or _text(item, "pattern")
            file = file or _text(item, "glob")
            if file:
                lines.append((_text(item, "title"), f"/{file}"))
                _take(found, file, item, depth + 1)
            elif not _text(item, "url"):
                _take(found, page, {"parts": [item]}, depth + 1)
        if lines:
            found.lists.setdefault(page, []).append(Toctree(tuple(lines), caption, glob=True))


def _lists(holder: Any) -> Iterator[tuple[str, list[Any]]]:
    """The lists that stand in an entry, each under the name of its group."""
    for name in _LISTS:
        if items := _listed(holder, name):
            yield "", items
    alone: list[Any] = []
    for group in (group for name in _GROUPS for group in _listed(holder, name)):
        inside = [item for key in _LISTS for item in _listed(group, key)]
        if _text(group, "file"):
            alone.append(group)
        elif inside:
            yield "", alone
            yield _text(group, "caption") or _text(group, "part") or _text(group, "title"), inside
            alone = []
    yield "", alone


def _listed(holder: Any, name: str) -> list[Any]:
    value = holder.get(name) if isinstance(holder, dict) else None
    return value if isinstance(value, list) else []


def _text(holder: Any, name: str) -> str:
    value = holder.get(name) if isinstance(holder, dict) else None
    return value.strip() if isinstance(value, str) else ""
