"""Finds a section, page or chapter of a book by its id or title, and writes it as Markdown."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby, takewhile

from bookbound.domain.chunk import Chunk, Place, QuotableUnit
from bookbound.domain.errors import InvalidInputError
from bookbound.domain.judgement import Evidence
from bookbound.domain.outline import split_sections
from bookbound.domain.ports import Index
from bookbound.domain.reply import AnswerSentence
from bookbound.domain.reply_blocks import build_blocks
from bookbound.domain.reply_markdown import escape_markdown, render_markdown

MAX_NAMED_SECTIONS = 10
"""The number of sections that an error message names."""
# Markdown has no seventh level of headings.
LOWEST_LEVEL = 6
SECTION_NOT_FOUND = (
    "This book has no such section. Search the book first, and pass the `section_id` of a result, or the exact title "
    "of a chapter or section."
)
AMBIGUOUS_TITLE = "Several sections have this title. Pass the id of one of them: {}"


@dataclass(frozen=True, slots=True)
class SectionText:
    """The Markdown of a section, page or chapter, and the place where it begins."""

    place: Place
    text: str


def get_section_id(place: Place) -> str:
    """The id by which a section is found again: its file and its anchor."""
    return f"{place.file}#{place.anchor}" if place.anchor else place.file


async def read_section(index: Index, wanted: str) -> SectionText:
    """Reads the section with this id, the page with this file, or the chapter or section with this title.

    A section contains its subsections.
    """
    chunks = await _find_by_id(index, wanted) or await _find_by_title(index, wanted)
    if not chunks:
        raise InvalidInputError(SECTION_NOT_FOUND)
    return SectionText(chunks[0].place, render_chunks(chunks))


async def read_chapter(index: Index, title: str) -> SectionText:
    """Reads the chapter with this title."""
    chunks = await _find_chapter(index, title)
    if not chunks:
        raise InvalidInputError("This book has no such chapter. List the chapters again.")
    return SectionText(chunks[0].place, render_chunks(chunks))


async def _find_by_id(index: Index, wanted: str) -> list[Chunk]:
    for page in (await index.outline()).pages:
        file = page.opening.place.file
        if wanted == file:
            return await index.chunks(file)
        if wanted.startswith(f"{file}#"):
            return _take_section(await index.chunks(file), wanted.removeprefix(f"{file}#"))
    return []


def _take_section(chunks: Sequence[Chunk], anchor: str) -> list[Chunk]:
    """The chunks of the section in which this anchor is; a printed page begins inside a section."""

    def has_anchor(chunk: Chunk) -> bool:
        return anchor in (chunk.place.anchor, *(each.anchor for each in chunk.page_breaks))

    sections = list(split_sections(chunks))
    first = next((at for at, section in enumerate(sections) if any(map(has_anchor, section))), None)
    if first is None:
        return []
    headings = sections[first][0].place.headings

    def is_inside(section: Sequence[Chunk]) -> bool:
        below = section[0].place.headings
        return len(below) > len(headings) and below[: len(headings)] == headings

    return [*sections[first], *(chunk for section in takewhile(is_inside, sections[first + 1 :]) for chunk in section)]


async def _find_by_title(index: Index, title: str) -> list[Chunk]:
    if chapter := await _find_chapter(index, title):
        return chapter
    places = [place for place in (await index.outline()).sections if _is_same_title(place.section, title)]
    ids = dict.fromkeys(map(get_section_id, places))
    if len(ids) > 1:
        raise InvalidInputError(AMBIGUOUS_TITLE.format(", ".join(list(ids)[:MAX_NAMED_SECTIONS])))
    return await _find_by_id(index, next(iter(ids))) if ids else []


async def _find_chapter(index: Index, title: str) -> list[Chunk]:
    chapters = (await index.outline()).chapters
    found = next((chapter for chapter in chapters if _is_same_title(chapter.title, title)), None)
    return [chunk for page in found.pages for chunk in await index.chunks(page.opening.place.file)] if found else []


def _is_same_title(one: str, other: str) -> bool:
    return " ".join(one.split()).casefold() == " ".join(other.split()).casefold()


def render_chunks(chunks: Sequence[Chunk]) -> str:
    """The text of chunks in reading order as Markdown, with the headings that begin in it."""
    return "\n\n".join(
        part for _, page in groupby(chunks, lambda chunk: chunk.place.file) for part in _render_page(page)
    )


def _render_page(chunks: Iterator[Chunk]) -> Iterator[str]:
    shown: tuple[str, ...] = ()
    for _, group in groupby(chunks, lambda chunk: chunk.place.headings):
        section = list(group)
        place = section[0].place
        below = place.headings[1:] if place.headings[:1] == (place.title,) else place.headings
        names = (place.title, *below)
        for level, name in enumerate(names, 1):
            if name and names[:level] != shown[:level]:
                yield f"{'#' * min(level, LOWEST_LEVEL)} {escape_markdown(name)}"
        shown = names
        joined = _join_chunks(section)
        whole = Evidence(joined.id, joined.text, joined.place, 0, len(joined.text), 1.0, chunk=joined)
        yield render_markdown(build_blocks([AnswerSentence(joined.text, (whole,))]))


def _join_chunks(chunks: Sequence[Chunk]) -> Chunk:
    """One chunk with the text of all; a unit that was cut between two of them is whole again."""
    first = chunks[0]
    text, units = "", list[QuotableUnit]()
    for chunk in chunks:
        text = text.ljust(chunk.offset - first.offset, "\n")
        start = len(text)
        moved = [unit._replace(start=unit.start + start, end=unit.end + start) for unit in chunk.units]
        if units and moved and chunk.cut_start:
            moved[0] = moved[0]._replace(start=units.pop().start)
        text, units = text + chunk.text, [*units, *moved]
    return replace(first, text=text, units=tuple(units), cut_end=chunks[-1].cut_end)
