"""Arranges a book for its pages: the chapters, the headings and blocks of one page, and where its links lead."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import NamedTuple
from urllib.parse import quote, unquote, urljoin, urlsplit

from bookbound.domain.chunk import Chunk, Place
from bookbound.domain.document import PageBreak
from bookbound.domain.outline import Outline, OutlinePage, count_headings_between, split_sections
from bookbound.server.page.page_blocks import LinkResolver, PageText, ShownBlock

TOP_LEVEL, LOWEST_LEVEL = 2, 6
MAX_LISTED_PAGES = 400
"""A book with more pages lists only those of the chapter that is open."""
_PAGE_ENDING = re.compile(
    r"(?:^|/)(?:index|readme|_index)?$|\.(?:mdx?|markdown|rst|txt|html?|xhtml|ipynb)$", re.IGNORECASE
)


class ContentsLink(NamedTuple):
    """A link to a chapter, a page or a section; inside are the listed pages of the chapter, or sections of the page."""

    title: str
    href: str
    is_current: bool = False
    inside: tuple[ContentsLink, ...] = ()


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


def list_chapters(outline: Outline, current: OutlinePage, prefix: str) -> Iterator[ContentsLink]:
    is_short = len(outline.pages) <= MAX_LISTED_PAGES
    for chapter in outline.chapters:
        first, is_current = chapter.pages[0].opening.place, current in chapter.pages
        pages = tuple(_link_page(page, page is current, prefix) for page in chapter.pages if is_short or is_current)
        yield ContentsLink(chapter.title, page_path(first, prefix), is_current, pages)


def _link_page(page: OutlinePage, is_current: bool, prefix: str) -> ContentsLink:
    place = page.opening.place
    sections = _link_sections(page.sections, prefix) if is_current else ()
    return ContentsLink(place.title or place.file, page_path(place, prefix), is_current, sections)


def _link_sections(places: Sequence[Place], prefix: str) -> tuple[ContentsLink, ...]:
    """The sections of the outermost level that has several; one heading above all of them is only a second title."""
    outermost = tuple(_link_level(places, 0, prefix))
    return outermost if len(outermost) > 1 else tuple(_link_level(places, 1, prefix))


def _link_level(places: Sequence[Place], level: int, prefix: str) -> Iterator[ContentsLink]:
    """Links to the sections of a level; one without a text of its own begins with its first subsection."""
    listed: set[str] = set()
    for place in places:
        if len(place.headings) > level and place.anchor:
            title = place.headings[level]
            if len(place.headings) == level + 1 or title not in listed:
                yield ContentsLink(title, page_path(place, prefix, place.anchor))
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
        shared = min(len(posixpath.commonprefix((open_headings, headings))), max(0, len(headings) - begun))
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


class BookLinks:
    """Resolves the targets of the links on one page of a book; `prefix` is the path of the book."""

    def __init__(self, pages: Iterable[Place], current: Place, prefix: str) -> None:
        self._current, self._prefix = current, prefix
        self._by_file: dict[str, Place] = {}
        self._by_url: dict[str, Place] = {}
        for place in pages:
            self._by_file.setdefault(_page_name(place.file), place)
            if place.url:
                self._by_url.setdefault(_url_name(place.url), place)

    def resolve(self, target: str) -> str:
        """Returns a link to a section of the book or to the web, or nothing: no other address is safe."""
        try:
            address = urlsplit(target.strip())
            if address.scheme == "mailto":
                return f"mailto:{quote(unquote(address.path), safe='@+,')}"
            if address.scheme not in ("", "http", "https"):
                return ""
            if not (address.scheme or address.netloc or address.path):
                return f"#{quote(unquote(address.fragment))}" if address.fragment else ""
            place = next(filter(None, self._find_places(target, address.path, bool(address.netloc))), None)
            if place:
                return page_path(place, self._prefix, unquote(address.fragment))
            url = urljoin(self._current.url, target.strip())
            is_web = urlsplit(url).scheme in ("http", "https") and urlsplit(url).netloc
            return quote(url, safe="%/:=&?~#+!$,;'@()*[]") if is_web else ""
        except ValueError:
            return ""

    def _find_places(self, target: str, path: str, has_host: bool) -> Iterator[Place | None]:
        if not has_host and path.startswith("/"):
            yield self._by_file.get(_page_name(unquote(path)))
        elif not has_host:
            folder = posixpath.dirname(self._current.file)
            yield self._by_file.get(_page_name(posixpath.join(folder, unquote(path))))
        yield self._by_url.get(_url_name(urljoin(self._current.url, target.strip())))


def page_path(place: Place, prefix: str, anchor: str = "") -> str:
    """The path of the page of a place; `prefix` is that of the book."""
    return f"{prefix}/read/{quote(place.file)}" + (f"#{quote(anchor)}" if anchor else "")


def _page_name(file: str) -> str:
    """The name of a page without what links leave out: its ending, and `index` or `README`."""
    name = posixpath.normpath(file.partition("#")[0]).lstrip("/")
    while name != (shorter := _PAGE_ENDING.sub("", name)):
        name = shorter
    return "" if name == "." else name


def _url_name(url: str) -> str:
    address = urlsplit(url)
    return f"{address.netloc}/{_page_name(unquote(address.path))}"
