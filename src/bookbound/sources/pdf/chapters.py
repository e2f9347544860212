"""Splits a PDF into chapters by its outline, its largest headings or its page numbers."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

from bookbound.sources.pdf.heading_detection import (
    PdfHeading,
    Typography,
    assign_levels,
    find_headings,
    normalize_title,
)
from bookbound.sources.pdf.line_layout import TextLine
from bookbound.sources.pdf.reader_process import OutlineEntry
from bookbound.sources.table_of_contents import strip_root

_MAX_CANDIDATES = 200


class SectionStart(NamedTuple):
    """From line `at` on, the text stands under this title of the outline; `heading` where the page shows it."""

    at: int
    level: int
    name: str
    heading: PdfHeading | None = None


def locate_outline(
    outline: Sequence[OutlineEntry], lines: Sequence[TextLine], found: Sequence[PdfHeading], heights: Sequence[float]
) -> list[SectionStart]:
    """The entries of the outline at their places, in reading order.

    Some programs let every entry name one and the same page: then only the words of the headings tell.
    """
    named = [entry for entry in outline if entry.title.strip()]
    pages = {entry.page for entry in named if entry.page >= 0}
    if 2 * len(pages) > len(named) or (len(pages) == len(heights) and pages):
        return sorted(_locate_by_page(named, lines, found, heights), key=lambda mark: mark.at)
    return _locate_by_words(named, found)


def _locate_by_page(
    named: list[OutlineEntry], lines: Sequence[TextLine], found: Sequence[PdfHeading], heights: Sequence[float]
) -> list[SectionStart]:
    starts = [bisect_left(lines, number, key=lambda line: line.page) for number in range(1, len(heights) + 2)]
    by_start = {title.start: title for title in found}
    placed = []
    for entry in named:
        if not 0 <= entry.page < len(heights) or starts[entry.page] == len(lines):
            continue
        start, end = starts[entry.page : entry.page + 2]
        on_page = range(start, min(end, start + _MAX_CANDIDATES))
        down = heights[entry.page] - entry.height if entry.height >= 0 else 0.0
        alike = [at for at in on_page if _matches_title(_displayed_text(by_start, lines, at), entry.title)]
        if alike:
            at = min(alike, key=lambda at: abs(lines[at].base - down))
            title = by_start.get(at) or PdfHeading(at, at + 1, lines[at].text, lines[at].size)
            placed.append(SectionStart(at, entry.depth + 1, entry.title, title._replace(level=entry.depth + 1)))
        else:
            at = next((at for at in on_page if lines[at].base >= down), on_page.stop)
            placed.append(SectionStart(min(at, len(lines) - 1), entry.depth + 1, entry.title))
    return placed


def _displayed_text(by_start: dict[int, PdfHeading], lines: Sequence[TextLine], at: int) -> str:
    return by_start[at].text if at in by_start else lines[at].text


def _locate_by_words(named: list[OutlineEntry], found: Sequence[PdfHeading]) -> list[SectionStart]:
    """The most entries that can be given headings of their words in the order of both."""
    by_word: dict[str, list[int]] = defaultdict(list)
    for i, title in enumerate(found):
        by_word[normalize_title(title.text).partition(" ")[0]].append(i)
    alike = [
        _matching_headings(entry, found, by_word[normalize_title(entry.title).partition(" ")[0]]) for entry in named
    ]
    # The longest chain of headings that go on: `last` ends the best one of each length.
    last: list[_ChainLink] = []
    for entry, candidates in zip(named, alike, strict=True):
        for number in reversed(candidates):
            length = bisect_left(last, number, key=lambda link: link.number)
            last[length : length + 1] = [_ChainLink(number, entry, last[length - 1] if length else None)]
    placed: list[SectionStart] = []
    link = last[-1] if last else None
    while link:
        heading = found[link.number]._replace(level=link.entry.depth + 1)
        placed.append(SectionStart(heading.start, heading.level, link.entry.title, heading))
        link = link.before
    return placed[::-1]


class _ChainLink(NamedTuple):
    """An entry that takes a heading, after another that takes an earlier one."""

    number: int
    entry: OutlineEntry
    before: _ChainLink | None


def _matching_headings(entry: OutlineEntry, found: Sequence[PdfHeading], candidates: Sequence[int]) -> list[int]:
    return [i for i in candidates[:_MAX_CANDIDATES] if _matches_title(found[i].text, entry.title)]


def _matches_title(shown: str, title: str) -> bool:
    """Whether a heading says a title, and perhaps more after it."""
    return bool(normalize_title(title)) and f"{normalize_title(shown)} ".startswith(f"{normalize_title(title)} ")


PAGES_PER_CHAPTER = 20
"""How many pages stand together where neither outline nor headings tell where chapters begin."""


class PdfChapter(NamedTuple):
    """The lines of a chapter, and which of them are headings."""

    name: str
    lines: Sequence[TextLine]
    headings: Mapping[int, PdfHeading]


def split_chapters(
    outline: Sequence[OutlineEntry], lines: Sequence[TextLine], heights: Sequence[float], face: Typography
) -> list[PdfChapter]:
    """The chapters of all lines of a book; what stands before the first is called as the outline begins."""
    outline = strip_root(outline)
    found = find_headings(lines, face)
    placed = locate_outline(outline, lines, found, heights)
    known = {mark.heading.start: mark.heading for mark in placed if mark.heading}
    headings = assign_levels(_merge_headings(found, known))
    starts = [mark for mark in placed if mark.level == 1] or _starts_by_size(headings) or _starts_by_page(lines)
    if starts[0].at > 0:
        named = next((entry.title for entry in outline if entry.depth == 0), "")
        starts.insert(0, SectionStart(0, 1, named if named and named != starts[0].name else ""))
    ends = [mark.at for mark in starts[1:]] + [len(lines)]
    return [
        PdfChapter(mark.name, lines[mark.at : end], _headings_between(headings, mark.at, end))
        for mark, end in zip(starts, ends, strict=True)
        if mark.at < end
    ]


def _merge_headings(found: Sequence[PdfHeading], known: Mapping[int, PdfHeading]) -> list[PdfHeading]:
    """The headings by their type, with those of the outline in their places."""
    claimed = {at for title in known.values() for at in range(title.start, title.end)}
    others = [title for title in found if claimed.isdisjoint(range(title.start, title.end))]
    return sorted([*known.values(), *others])


def _starts_by_size(headings: Sequence[PdfHeading]) -> list[SectionStart]:
    """The largest headings that there are several of."""
    sizes = Counter(title.size for title in headings)
    several = [size for size, count in sizes.items() if count > 1]
    return [SectionStart(title.start, 1, title.text) for title in headings if several and title.size == max(several)]


def _starts_by_page(lines: Sequence[TextLine]) -> list[SectionStart]:
    last = lines[-1].page
    found: list[SectionStart] = []
    for before, (at, line) in pairwise([(0, lines[0]), *enumerate(lines)]):
        first = (line.page - 1) // PAGES_PER_CHAPTER * PAGES_PER_CHAPTER + 1
        if not at or (before[1].page - 1) // PAGES_PER_CHAPTER != (line.page - 1) // PAGES_PER_CHAPTER:
            until = min(first + PAGES_PER_CHAPTER - 1, last)
            found.append(SectionStart(at, 1, f"Pages {first}-{until}" if until > first else f"Page {first}"))
    return found


def _headings_between(headings: Sequence[PdfHeading], start: int, end: int) -> dict[int, PdfHeading]:
    first, last = (bisect_left(headings, at, key=lambda title: title.start) for at in (start, end))
    inside = headings[first:last]
    return {t.start - start: t._replace(start=t.start - start, end=min(t.end, end) - start) for t in inside}
