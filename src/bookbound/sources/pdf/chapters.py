"""Splits a PDF into chapters by its outline, its largest headings or its page numbers."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
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

PAGES_PER_CHAPTER = 20
"""The size of a chapter if neither outline nor headings say where chapters begin."""
_MAX_CANDIDATES = 200


class SectionStart(NamedTuple):
    """A section begins at line `at`; `heading` is set if the page shows its title."""

    at: int
    level: int
    title: str
    heading: PdfHeading | None = None


class PdfChapter(NamedTuple):
    """The lines of a chapter, and its headings by line number."""

    title: str
    lines: Sequence[TextLine]
    headings: Mapping[int, PdfHeading]


def split_chapters(
    outline: Sequence[OutlineEntry], lines: Sequence[TextLine], heights: Sequence[float], typography: Typography
) -> list[PdfChapter]:
    """Split the lines of a book into chapters; text before the first gets the title that the outline begins with."""
    outline = strip_root(outline)
    headings = list(find_headings(lines, typography))
    sections = locate_outline(outline, lines, headings, heights)
    known = {section.heading.start: section.heading for section in sections if section.heading}.values()
    # The outline is right about headings that share a line with detected ones.
    taken = {at for heading in known for at in range(heading.start, heading.end)}
    others = [heading for heading in headings if taken.isdisjoint(range(heading.start, heading.end))]
    headings = assign_levels(sorted([*known, *others]))
    starts = [section for section in sections if section.level == 1]
    starts = starts or _starts_by_size(headings) or list(_starts_by_page(lines))
    if starts[0].at > 0:
        title = next((entry.title for entry in outline if entry.depth == 0), "")
        starts.insert(0, SectionStart(0, 1, title if title != starts[0].title else ""))
    ends = [start.at for start in starts[1:]] + [len(lines)]
    return [
        PdfChapter(start.title, lines[start.at : end], _headings_between(headings, start.at, end))
        for start, end in zip(starts, ends, strict=True)
        if start.at < end
    ]


def locate_outline(
    outline: Sequence[OutlineEntry], lines: Sequence[TextLine], headings: Sequence[PdfHeading], heights: Sequence[float]
) -> list[SectionStart]:
    """Find the lines that the entries of the outline point to, in reading order.

    Some programs make every entry point to the same page: then only the words of the headings help.
    """
    entries = [entry for entry in outline if entry.title.strip()]
    pages = {entry.page for entry in entries if entry.page >= 0}
    if 2 * len(pages) > len(entries) or (len(pages) == len(heights) and pages):
        return sorted(_locate_by_page(entries, lines, headings, heights), key=lambda section: section.at)
    return _locate_by_words(entries, headings)


def _locate_by_page(
    entries: list[OutlineEntry], lines: Sequence[TextLine], headings: Sequence[PdfHeading], heights: Sequence[float]
) -> Iterator[SectionStart]:
    page_starts = [bisect_left(lines, number, key=lambda line: line.page) for number in range(1, len(heights) + 2)]
    by_start = {heading.start: heading for heading in headings}
    for entry in entries:
        if not 0 <= entry.page < len(heights) or page_starts[entry.page] == len(lines):
            continue
        start, end = page_starts[entry.page : entry.page + 2]
        on_page = range(start, min(end, start + _MAX_CANDIDATES))
        top = heights[entry.page] - entry.height if entry.height >= 0 else 0.0
        level = entry.depth + 1
        matching = [at for at in on_page if _matches_title(by_start.get(at, lines[at]).text, entry.title)]
        if matching:
            at = min(matching, key=lambda at: abs(lines[at].baseline - top))
            heading = by_start.get(at) or PdfHeading(at, at + 1, lines[at].text, lines[at].size)
            yield SectionStart(at, level, entry.title, heading._replace(level=level))
        else:
            at = next((at for at in on_page if lines[at].baseline >= top), on_page.stop)
            yield SectionStart(min(at, len(lines) - 1), level, entry.title)


class _ChainLink(NamedTuple):
    """An entry that takes a heading, after another that takes an earlier one."""

    number: int
    entry: OutlineEntry
    before: _ChainLink | None


def _locate_by_words(entries: list[OutlineEntry], headings: Sequence[PdfHeading]) -> list[SectionStart]:
    """Match as many entries as possible with headings of the same words, in the order of both."""
    by_word: dict[str, list[int]] = defaultdict(list)
    for i, heading in enumerate(headings):
        by_word[_first_word(heading.text)].append(i)
    # Longest increasing subsequence: `last[n]` ends the best chain of n + 1 headings.
    last: list[_ChainLink] = []
    for entry in entries:
        candidates = by_word[_first_word(entry.title)][:_MAX_CANDIDATES]
        for number in reversed([i for i in candidates if _matches_title(headings[i].text, entry.title)]):
            length = bisect_left(last, number, key=lambda link: link.number)
            last[length : length + 1] = [_ChainLink(number, entry, last[length - 1] if length else None)]
    sections: list[SectionStart] = []
    link = last[-1] if last else None
    while link:
        heading = headings[link.number]._replace(level=link.entry.depth + 1)
        sections.append(SectionStart(heading.start, heading.level, link.entry.title, heading))
        link = link.before
    return sections[::-1]


def _first_word(title: str) -> str:
    return normalize_title(title).partition(" ")[0]


def _matches_title(text: str, title: str) -> bool:
    """Whether a heading begins with the words of a title."""
    return bool(normalize_title(title)) and f"{normalize_title(text)} ".startswith(f"{normalize_title(title)} ")


def _starts_by_size(headings: Sequence[PdfHeading]) -> list[SectionStart]:
    """Begin chapters at the headings of the largest size that occurs more than once."""
    sizes = Counter(heading.size for heading in headings)
    largest = max((size for size, count in sizes.items() if count > 1), default=None)
    return [SectionStart(heading.start, 1, heading.text) for heading in headings if heading.size == largest]


def _starts_by_page(lines: Sequence[TextLine]) -> Iterator[SectionStart]:
    for group, members in groupby(enumerate(lines), key=lambda pair: (pair[1].page - 1) // PAGES_PER_CHAPTER):
        first, end = group * PAGES_PER_CHAPTER + 1, min((group + 1) * PAGES_PER_CHAPTER, lines[-1].page)
        yield SectionStart(next(members)[0], 1, f"Pages {first}-{end}" if end > first else f"Page {first}")


def _headings_between(headings: Sequence[PdfHeading], start: int, end: int) -> dict[int, PdfHeading]:
    first, last = (bisect_left(headings, at, key=lambda heading: heading.start) for at in (start, end))
    moved = (each._replace(start=each.start - start, end=min(each.end, end) - start) for each in headings[first:last])
    return {each.start: each for each in moved}
