"""Locates the reader's selected text in the book."""

from __future__ import annotations

import asyncio
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import groupby, islice

from bookbound.domain.chunk import Chunk, Place, QuotableUnit
from bookbound.domain.document import SourceSpan
from bookbound.domain.ports import Index
from bookbound.domain.question import SELECTION_CHUNK_ID
from bookbound.text.sentences import split_sentences

ChunkOffset = tuple[Chunk, int]
MAX_CANDIDATES = 5
MAX_OCCURRENCES = 1000
"""How many places of a page are compared that hold the same letters."""
FOREIGN_SECTION = "Selected text"


async def locate_selection(selection: str, index: Index) -> Chunk:
    """The selection as a chunk of its own, with its place in the book where it is found there."""
    tried: set[str] = set()
    for candidate in await index.match(selection, MAX_CANDIDATES):
        if candidate.place.file not in tried:
            tried.add(candidate.place.file)
            chunks = await index.chunks(candidate.place.file)
            if found := await asyncio.to_thread(_find_on_page, selection, chunks, candidate):
                return found
    place = Place("", "", "", FOREIGN_SECTION, (), "", 0, len(selection))
    runs = (SourceSpan(0, len(selection), 0, len(selection)),)
    return Chunk(SELECTION_CHUNK_ID, selection, place, 0, runs, tuple(split_sentences(selection)))


def _find_on_page(selection: str, chunks: list[Chunk], likely: Chunk) -> Chunk | None:
    """The selection, where the letters of a page hold its letters one after the other, as whole words if they do.

    Only letters and digits are compared: a browser's selection has white space, quotes and bullets of its own.
    """
    wanted = _normalize_letters(selection)
    page = list(_iterate_page_letters(chunks))
    places = [at for at, _ in page]
    found = _find_occurrences("".join(letter for _, letter in page), "".join(letter for _, letter in wanted))
    each = (places[start : start + len(wanted)] for start in islice(found, MAX_OCCURRENCES))
    there = max(
        each, key=lambda at: (_is_at_word_boundaries(at), at[0] is not None and at[0][0].id == likely.id), default=[]
    )
    runs = tuple(
        run for (i, _), at in zip(wanted, there, strict=False) if at for run in _map_characters(selection, i, *at)
    )
    if not runs:
        return None
    first = next(at[0] for at in there if at)
    place = replace(first.place, start=runs[0].start, end=runs[-1].end)
    units = _build_selected_units(selection, [i for i, _ in wanted], there)
    return Chunk(SELECTION_CHUNK_ID, selection, place, first.position, runs, tuple(units))


def _find_occurrences(text: str, sought: str) -> Iterator[int]:
    """Where some letters begin in a text."""
    start = text.find(sought) if sought else -1
    while start >= 0:
        yield start
        start = text.find(sought, start + 1)


def _is_at_word_boundaries(there: Sequence[ChunkOffset | None]) -> bool:
    """Whether a word begins with the first letter, and one ends with the last."""
    first, last = there[0], there[-1]
    before = first[0].text[first[1] - 1 : first[1]] if first else ""
    after = last[0].text[last[1] + 1 : last[1] + 2] if last else ""
    return not (before.isalnum() or after.isalnum())


def iterate_page_texts(chunks: Sequence[Chunk]) -> Iterator[tuple[str, Chunk | None]]:
    """The texts of a page in reading order; those of headings stand in no chunk."""
    above: tuple[str, ...] = ()
    for chunk in chunks:
        names = (chunk.place.title, *chunk.place.headings)
        kept = next((i for i, (one, other) in enumerate(zip(above, names, strict=False)) if one != other), len(above))
        yield from ((name, None) for name in names[kept:])
        yield chunk.text, chunk
        above = names


def _iterate_page_letters(chunks: Sequence[Chunk]) -> Iterator[tuple[ChunkOffset | None, str]]:
    """The letters of a page in reading order, each with where it stands, if in a chunk."""
    for text, chunk in iterate_page_texts(chunks):
        yield from (((chunk, i) if chunk else None, letter) for i, letter in _normalize_letters(text))


def _map_characters(selection: str, i: int, chunk: Chunk, j: int) -> Iterator[SourceSpan]:
    """A letter of the selection where it stands in the chunk, and the punctuation after it as far as they agree."""
    while True:
        yield SourceSpan(i, 1, *chunk.span(j, j + 1))
        i, j = i + 1, j + 1
        if selection[i : i + 1].isalnum() or selection[i : i + 1] != chunk.text[j : j + 1] or i == len(selection):
            return


def _build_selected_units(
    selection: str, letters: list[int], there: list[ChunkOffset | None]
) -> Iterator[QuotableUnit]:
    """The units of the book as far as they were selected, since only the book tells code from prose."""
    start = 0
    for unit, found in groupby(range(len(letters)), lambda n: _get_unit_at(there[n])):
        *_, last = found
        after = letters[last + 1] if last + 1 < len(letters) else len(selection)
        gap = selection[letters[last] + 1 : after]
        # What follows the last letter is the unit's up to the end of the line, or else up to a space.
        closing = gap if after == len(selection) else gap.partition("\n" if "\n" in gap else " ")[0]
        end = letters[last] + 1 + len(closing)
        yield QuotableUnit(unit.kind, start, end).trimmed(selection)
        start = end


def _get_unit_at(at: ChunkOffset | None) -> QuotableUnit:
    """The unit of the book that a letter stands in."""
    if at is None:
        return QuotableUnit("heading", 0, 0)
    chunk, i = at
    before = bisect_right(chunk.units, i, key=lambda unit: unit.start) - 1
    return chunk.units[before] if before >= 0 else QuotableUnit("sentence", 0, i)


def _normalize_letters(text: str) -> list[tuple[int, str]]:
    return [(i, low) for i, c in enumerate(text) if c.isalnum() and len(low := c.lower()) == 1]
