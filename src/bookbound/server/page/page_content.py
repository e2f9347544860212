"""Arranges a book for its pages: the chapters, and the headings and blocks of one page."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple
from urllib.parse import quote

from bookbound.answering.writers.neighbour_chunks import join_sections
from bookbound.domain.chunk import Chunk, Place
from bookbound.domain.document import PageBreak
from bookbound.domain.judgement import Evidence
from bookbound.domain.outline import Outline, OutlinePage
from bookbound.domain.reply import AnswerSentence
from bookbound.domain.reply_blocks import ListItem, ReplyBlock, build_blocks

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


class NestedItem(NamedTuple):
    """An item of a list with the lists inside it; `value` is its number, if it has one."""

    text: str
    value: int | None
    lists: list[NestedList]


class NestedList(NamedTuple):
    is_numbered: bool
    items: list[NestedItem]


class PagePart(NamedTuple):
    """Blocks of one section; they begin a printed page if there is a `page_break`."""

    page_break: PageBreak | None
    blocks: tuple[ReplyBlock, ...]


class ShownSection(NamedTuple):
    """A section with the headings that begin there, and its own anchor if no heading has it."""

    headings: tuple[SectionHeading, ...]
    anchor: str
    parts: tuple[PagePart, ...]


def page_path(place: Place, prefix: str = "", anchor: str = "") -> str:
    """The path of the page of a place; `prefix` is that of the book."""
    return f"{prefix}/read/{quote(place.file)}" + (f"#{quote(anchor)}" if anchor else "")


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
    level = 0 if len({place.headings[0] for place in places if place.headings}) > 1 else 1
    links: dict[str, PageLink] = {}
    for place in places:
        if len(place.headings) > level and place.anchor:
            title = place.headings[level]
            links.setdefault(title, PageLink(title, page_path(place, prefix, place.anchor)))
    return tuple(links.values())


def build_sections(chunks: Sequence[Chunk]) -> Iterator[ShownSection]:
    """The sections of a page from its chunks in reading order; no anchor occurs twice."""
    used: set[str] = set()
    open_headings: tuple[str, ...] = ()
    page_number: int | None = None

    def take(anchor: str) -> str:
        is_new = anchor not in used
        used.add(anchor)
        return anchor if is_new else ""

    for section in join_sections(chunks):
        place = section.place
        headings = place.headings[1:] if place.headings[:1] == (place.title,) else place.headings
        shared = _count_shared(open_headings, headings)
        anchor, open_headings = take(place.anchor), headings
        last = len(headings) - 1
        new = tuple(
            SectionHeading(min(TOP_LEVEL + at, LOWEST_LEVEL), headings[at], anchor if at == last else "")
            for at in range(shared, len(headings))
        )
        parts = []
        for page_break, start, end in _split_at_pages(section, page_number):
            page_number = page_break.number if page_break else page_number
            shown = page_break._replace(anchor=take(page_break.anchor)) if page_break else None
            parts.append(PagePart(shown, _build_part(section, start, end)))
        yield ShownSection(new, "" if new else anchor, tuple(parts))


def _count_shared(one: Sequence[str], other: Sequence[str]) -> int:
    count = 0
    while count < min(len(one), len(other)) and one[count] == other[count]:
        count += 1
    return count


def _split_at_pages(section: Chunk, number: int | None) -> Iterator[tuple[PageBreak | None, int, int]]:
    """The spans of a section on each printed page; a unit belongs to the page on which it begins."""
    start, current = 0, None
    for page_break in section.page_breaks:
        if page_break.number == number:
            continue
        number = page_break.number
        at = next((unit.start for unit in section.units if unit.start >= page_break.at), len(section.text))
        if at > start:
            yield current, start, at
        start, current = at, page_break
    if start < len(section.text):
        yield current, start, len(section.text)


def _build_part(section: Chunk, start: int, end: int) -> tuple[ReplyBlock, ...]:
    evidence = Evidence.from_chunk(section, start, end, 1.0)
    return build_blocks([AnswerSentence(evidence.text, (evidence,), 1.0)])


def nest_items(items: Sequence[ListItem]) -> list[NestedList]:
    """Lists inside lists from items with levels; a change between numbers and bullets begins another list."""
    top: list[NestedList] = []
    open_lists: list[tuple[int, NestedList]] = []
    for item in items:
        while open_lists and open_lists[-1][0] > item.level:
            open_lists.pop()
        is_numbered = bool(item.number)
        if open_lists and open_lists[-1][0] == item.level and open_lists[-1][1].is_numbered != is_numbered:
            open_lists.pop()
        if not open_lists or open_lists[-1][0] < item.level:
            nested = NestedList(is_numbered, [])
            (open_lists[-1][1].items[-1].lists if open_lists else top).append(nested)
            open_lists.append((item.level, nested))
        digits = item.number.strip("().")
        open_lists[-1][1].items.append(NestedItem(item.text, int(digits) if digits.isdecimal() else None, []))
    return top
