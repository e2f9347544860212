"""Defines the outline of a book: its chapters and pages in reading order, and the words that it uses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from bookbound.domain.chunk import Chunk, Place


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
    sections: dict[tuple[str, ...], Place] = {}
    for chunk in chunks:
        sections.setdefault(chunk.place.headings, chunk.place)
    opening = next((chunk for chunk in chunks if any(unit.kind == "sentence" for unit in chunk.units)), chunks[0])
    return OutlinePage(opening, tuple(sections.values()))
