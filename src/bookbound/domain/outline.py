"""Defines the outline of a book: its chapters and pages in reading order, and the words that it uses."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from bookbound.domain.chunk import Chunk, Place

_BLANK_LINE = "\n\n"


@dataclass(frozen=True, slots=True)
class OutlinePage:
    """A page of a book: the chunk that opens it, and the place of each section, in reading order."""

    opening: Chunk
    sections: tuple[Place, ...]


@dataclass(frozen=True, slots=True)
class OutlineChapter:
    """A chapter and its pages; a page without a chapter is one by itself."""

    title: str
    pages: tuple[OutlinePage, ...]


@dataclass(frozen=True, slots=True)
class Outline:
    """The pages of a book in reading order, and how often the book uses each word, in lower case."""

    pages: tuple[OutlinePage, ...]
    word_counts: Mapping[str, int]

    @property
    def chapters(self) -> tuple[OutlineChapter, ...]:
        pages: dict[tuple[str, str], list[OutlinePage]] = {}
        for page in self.pages:
            place = page.opening.place
            pages.setdefault((place.book, place.chapter or place.title), []).append(page)
        return tuple(OutlineChapter(title, tuple(found)) for (_, title), found in pages.items())

    @property
    def sections(self) -> tuple[Place, ...]:
        """The places of all sections and of the pages themselves."""
        return tuple(place for page in self.pages for place in page.sections)


def outline_page(chunks: Sequence[Chunk]) -> OutlinePage:
    """Returns the outline of a page from its chunks in reading order; a page opens with its first sentence."""
    opening = next((chunk for chunk in chunks if any(unit.kind == "sentence" for unit in chunk.units)), chunks[0])
    return OutlinePage(opening, tuple(section[0].place for section in split_sections(chunks)))


def split_sections(chunks: Sequence[Chunk]) -> Iterator[list[Chunk]]:
    """Yields the chunks of each section of a page, also of neighbours with the same headings."""
    section: list[Chunk] = []
    for chunk in chunks:
        before = section[-1].place if section else chunk.place
        # Blocks and printed pages inside a section have anchors too.
        has_heading = before.anchor != chunk.place.anchor and count_headings_between(section[-1], chunk) > 0
        if before.headings != chunk.place.headings or has_heading:
            yield section
            section = []
        section.append(chunk)
    if section:
        yield section


def count_headings_between(before: Chunk, chunk: Chunk) -> int:
    """Returns how many of a chunk's headings stand directly above it: no other text is between chunks of a page."""
    room = chunk.offset - before.offset - len(before.text) - len(_BLANK_LINE)
    count = 0
    for heading in reversed(chunk.place.headings):
        room -= len(heading) + len(_BLANK_LINE)
        if room < 0:
            break
        count += 1
    return count
