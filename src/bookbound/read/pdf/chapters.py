"""The chapters of a PDF: by its outline, else by its largest headings, else by its pages."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

from bookbound.read.pdf.folio import Entry
from bookbound.read.pdf.lines import Line
from bookbound.read.pdf.outline import Mark, marks
from bookbound.read.pdf.titles import Title, Type, levels, titles
from bookbound.read.rootless import rootless

TOGETHER = 20
"""How many pages stand together where neither outline nor headings tell where chapters begin."""


class Chapter(NamedTuple):
    """The lines of a chapter, and which of them are headings."""

    name: str
    lines: Sequence[Line]
    headings: Mapping[int, Title]


def chapters(outline: Sequence[Entry], lines: Sequence[Line], heights: Sequence[float], face: Type) -> list[Chapter]:
    """The chapters of all lines of a book; what stands before the first is called as the outline begins."""
    outline = rootless(outline)
    found = titles(lines, face)
    placed = marks(outline, lines, found, heights)
    known = {mark.heading.start: mark.heading for mark in placed if mark.heading}
    headings = levels(_merged(found, known))
    starts = [mark for mark in placed if mark.level == 1] or _by_size(headings) or _by_page(lines)
    if starts[0].at > 0:
        named = next((entry.title for entry in outline if entry.depth == 0), "")
        starts.insert(0, Mark(0, 1, named if named and named != starts[0].name else ""))
    ends = [mark.at for mark in starts[1:]] + [len(lines)]
    return [
        Chapter(mark.name, lines[mark.at : end], _within(headings, mark.at, end))
        for mark, end in zip(starts, ends, strict=True)
        if mark.at < end
    ]


def _merged(found: Sequence[Title], known: Mapping[int, Title]) -> list[Title]:
    """The headings by their type, with those of the outline in their places."""
    claimed = {at for title in known.values() for at in range(title.start, title.end)}
    others = [title for title in found if claimed.isdisjoint(range(title.start, title.end))]
    return sorted([*known.values(), *others])


def _by_size(headings: Sequence[Title]) -> list[Mark]:
    """The largest headings that there are several of."""
    sizes = Counter(title.size for title in headings)
    several = [size for size, count in sizes.items() if count > 1]
    return [Mark(title.start, 1, title.text) for title in headings if several and title.size == max(several)]


def _by_page(lines: Sequence[Line]) -> list[Mark]:
    last = lines[-1].page
    found: list[Mark] = []
    for before, (at, line) in pairwise([(0, lines[0]), *enumerate(lines)]):
        first = (line.page - 1) // TOGETHER * TOGETHER + 1
        if not at or (before[1].page - 1) // TOGETHER != (line.page - 1) // TOGETHER:
            until = min(first + TOGETHER - 1, last)
            found.append(Mark(at, 1, f"Pages {first}-{until}" if until > first else f"Page {first}"))
    return found


def _within(headings: Sequence[Title], start: int, end: int) -> dict[int, Title]:
    first, last = (bisect_left(headings, at, key=lambda title: title.start) for at in (start, end))
    inside = headings[first:last]
    return {t.start - start: t._replace(start=t.start - start, end=min(t.end, end) - start) for t in inside}
