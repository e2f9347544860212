"""Arranges a book for its pages: the chapters, and the headings and blocks of one page."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby, takewhile
from typing import NamedTuple

from bookbound.domain.chunk import Chunk, Place
from bookbound.domain.document import PageBreak
from bookbound.domain.outline import Outline, OutlinePage, count_headings_between, split_sections
from bookbound.server.page.book_links import page_path
from bookbound.server.page.page_blocks import LinkResolver, PageText, ShownBlock

TOP_LEVEL, LOWEST_LEVEL = 2, 6
MAX_LISTED_PAGES = 400
"""A book with more pages lists only those of the chapter that is open."""


class PageLink(NamedTuple):
    """A link to a page or section; `sections` are those of the open page."""

    title: str
    href: str
    is_current: bool = False
    sections: tuple[PageLink, ...] = ()


class ChapterLinks(NamedTuple):
    """A chapter and its pages; one without listed pages is only a link to its first page."""

    title: str
    href: str
    is_current: bool
    pages: tuple[PageLink, ...]


class SectionHeading(NamedTuple):
    level: int
    text: str
    anchor: str


class PagePart(NamedTuple):
    """Blocks of one section; they begin a printed page if there is a `page_break`."""

    page_break: PageBreak | None
    blocks: tuple[ShownBlock, ...]


class ShownSection(NamedTuple):
    """A section with the headings that begin there, and its own anchor if no heading has it."""

    headings: tuple[SectionHeading, ...]
    anchor: str
    parts: tuple[PagePart, ...]


def list_chapters(outline: Outline, current: OutlinePage, prefix: str) -> Iterator[ChapterLinks]:
    is_short = len(outline.pages) <= MAX_LISTED_PAGES
    for chapter in outline.chapters:
        first, is_current = chapter.pages[0].opening.place, current in chapter.pages
        pages = tuple(_link_page(page, page is current, prefix) for page in chapter.pages if is_short or is_current)
        yield ChapterLinks(chapter.title, page_path(first, prefix), is_current, pages)


def _link_page(page: OutlinePage, is_current: bool, prefix: str) -> PageLink:
    place = page.opening.place
    sections = _link_sections(page.sections, prefix) if is_current else ()
    return PageLink(place.title or place.file, page_path(place, prefix), is_current, sections)


def _link_sections(places: Sequence[Place], prefix: str) -> tuple[PageLink, ...]:
    """The sections of the outermost level that has several; one heading above all of them is only a second title."""
    outermost = tuple(_link_level(places, 0, prefix))
    return outermost if len(outermost) > 1 else tuple(_link_level(places, 1, prefix))


def _link_level(places: Sequence[Place], level: int, prefix: str) -> Iterator[PageLink]:
    """Links to the sections of a level; one without a text of its own begins with its first subsection."""
    listed: set[str] = set()
    for place in places:
        if len(place.headings) > level and place.anchor:
            title = place.headings[level]
            if len(place.headings) == level + 1 or title not in listed:
                yield PageLink(title, page_path(place, prefix, place.anchor))
            listed.add(title)


def build_sections(chunks: Sequence[Chunk], resolve_link: LinkResolver) -> Iterator[ShownSection]:
    """The sections of a page from its chunks in reading order; no anchor occurs twice."""
    text = PageText(chunks, resolve_link)
    used: set[str] = set()
    open_headings: tuple[str, ...] = ()
    page_number: int | None = None

    def take(anchor: str) -> str:
        is_new = anchor not in used
        used.add(anchor)
        return anchor if is_new else ""

    before: Chunk | None = None
    for section in split_sections(chunks):
        place = section[0].place
        headings = place.headings[1:] if place.headings[:1] == (place.title,) else place.headings
        begun = count_headings_between(before, section[0]) if before else 0
        shared = min(_count_shared(open_headings, headings), max(0, len(headings) - begun))
        anchor, open_headings, before = take(place.anchor), headings, section[-1]
        last = len(headings) - 1
        new = tuple(
            SectionHeading(min(TOP_LEVEL + at, LOWEST_LEVEL), headings[at], anchor if at == last else "")
            for at in range(shared, len(headings))
        )
        parts = []
        for page_break, start, end in _split_at_pages(section, page_number):
            page_number = page_break.number if page_break else page_number
            shown = page_break._replace(anchor=take(page_break.anchor)) if page_break else None
            blocks = text.build_blocks(start, end)
            # A heading without a text below it is the text of its section.
            parts.append(PagePart(shown, tuple(block for block in blocks if block.kind != "heading")))
        yield ShownSection(new, "" if new else anchor, tuple(parts))


def _count_shared(one: Sequence[str], other: Sequence[str]) -> int:
    return len(list(takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False))))


def _split_at_pages(section: Sequence[Chunk], number: int | None) -> Iterator[tuple[PageBreak | None, int, int]]:
    """The ranges of a section on each printed page; a unit belongs to the page on which it begins."""
    start, end = section[0].offset, section[-1].offset + len(section[-1].text)
    units = [chunk.offset + unit.start for chunk in section for unit in chunk.units]
    current = None
    for page_break in _list_page_breaks(section):
        if page_break.number == number:
            continue
        number = page_break.number
        at = next((unit for unit in units if unit >= page_break.at), end)
        if at > start:
            yield current, start, at
        start, current = at, page_break
    if start < end:
        yield current, start, end


def _list_page_breaks(section: Sequence[Chunk]) -> Iterator[PageBreak]:
    for chunk in section:
        place = chunk.place
        if place.page is not None:
            yield PageBreak(chunk.offset, place.page, place.page_label, place.anchor)
        yield from (each._replace(at=each.at + chunk.offset) for each in chunk.page_breaks)


def split_table(rows: Sequence[ShownBlock]) -> list[tuple[bool, list[ShownBlock]]]:
    """Returns the rows that name columns at the beginning of a table, if any, and the others."""
    count = next((at for at, row in enumerate(rows) if row.kind != "header"), len(rows))
    parts = ((True, list(rows[:count])), (False, list(rows[count:])))
    return [(is_header, part) for is_header, part in parts if part]


def split_list(items: Sequence[ShownBlock]) -> Iterator[tuple[str, str, list[ShownBlock]]]:
    """Yields the lists of neighbouring items of one kind: tag, type of numbers, and items."""

    def kind_of(item: ShownBlock) -> tuple[str, str]:
        if item.kind in ("term", "description"):
            return "dl", ""
        letter = item.marker if item.marker.isalpha() else ""
        return "ol" if item.marker else "ul", "A" if letter.isupper() else "a" if letter else ""

    for (tag, numbers), group in groupby(items, key=kind_of):
        yield tag, numbers, list(group)
