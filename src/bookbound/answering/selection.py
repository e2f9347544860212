"""Locates the reader's selected text in the book."""

from __future__ import annotations

import asyncio
import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import groupby, islice

from bookbound.domain.chunk import Chunk, Place, QuotableUnit
from bookbound.domain.document import SourceSpan
from bookbound.domain.ports import Index
from bookbound.domain.question import NO_DEADLINE, SELECTION_CHUNK_ID, Deadline
from bookbound.text import split_sentences

ChunkOffset = tuple[Chunk, int]
MAX_CANDIDATES = 5
MAX_OCCURRENCES = 1000
FOREIGN_SECTION = "Selected text"
_PARAGRAPH = re.compile(r"[^\n]+(?:\n(?![^\S\n]*(?:\n|$))[^\n]+)*")
_LIST_ITEM = re.compile(r"^\s*(?:[-*+•‣◦·–]|\d{1,3}[.)])\s", re.M)


async def locate_selection(selection: str, index: Index, deadline: Deadline = NO_DEADLINE) -> Chunk:
    """Returns the selection as a chunk, with its place in the book if it is found there."""
    files: set[str] = set()
    for candidate in await index.match(selection, MAX_CANDIDATES, deadline):
        if candidate.place.file not in files:
            files.add(candidate.place.file)
            chunks = await index.chunks(candidate.place.file, deadline)
            if found := await asyncio.to_thread(_find_on_page, selection, chunks, candidate):
                return found
    place = Place("", "", "", FOREIGN_SECTION, (), "", 0, len(selection))
    spans = (SourceSpan(0, len(selection), 0, len(selection)),)
    return Chunk(SELECTION_CHUNK_ID, selection, place, 0, spans, tuple(_split_foreign(selection)))


def _split_foreign(selection: str) -> Iterator[QuotableUnit]:
    """Yields the units of a text that is not from the book; only indented lines tell code from prose."""
    paragraphs = _PARAGRAPH.finditer(selection)
    for is_code, found in groupby(paragraphs, lambda paragraph: _looks_like_code(paragraph.group())):
        spans = [paragraph.span() for paragraph in found]
        start, end = spans[0][0], spans[-1][1]
        if is_code:
            yield QuotableUnit("code", start, end).trimmed(selection)
        else:
            units = split_sentences(selection[start:end])
            yield from (unit._replace(start=unit.start + start, end=unit.end + start) for unit in units)


def _looks_like_code(paragraph: str) -> bool:
    first, *rest = (len(line) - len(line.lstrip()) for line in paragraph.split("\n"))
    return max(rest, default=0) > first and not _LIST_ITEM.search(paragraph)


def _find_on_page(selection: str, chunks: list[Chunk], likely: Chunk) -> Chunk | None:
    """Finds the letters of the selection on a page, preferably as whole words and in the likely chunk.

    Only letters and digits are compared, because a browser adds its own white space, quotes and bullets.
    """
    wanted = _normalize_letters(selection)
    page = list(_iterate_page_letters(chunks))
    page_offsets = [offset for offset, _ in page]
    starts = _find_occurrences("".join(letter for _, letter in page), "".join(letter for _, letter in wanted))
    occurrences = (page_offsets[start : start + len(wanted)] for start in islice(starts, MAX_OCCURRENCES))

    def rank(offsets: Sequence[ChunkOffset | None]) -> tuple[bool, bool]:
        first = offsets[0]
        return _is_at_word_boundaries(offsets), first is not None and first[0].id == likely.id

    offsets = max(occurrences, key=rank, default=[])
    spans = tuple(
        span
        for (i, _), offset in zip(wanted, offsets, strict=False)
        if offset
        for span in _map_characters(selection, i, *offset)
    )
    if not spans:
        return None
    first, at = next(offset for offset in offsets if offset)
    place = first.place.on_page(first.page_breaks, at, start=spans[0].start, end=spans[-1].end)
    units = _build_selected_units(selection, [i for i, _ in wanted], offsets)
    return Chunk(SELECTION_CHUNK_ID, selection, place, first.position, spans, tuple(units))


def _find_occurrences(text: str, words: str) -> Iterator[int]:
    """Yields the positions of `words` in `text`."""
    start = text.find(words) if words else -1
    while start >= 0:
        yield start
        start = text.find(words, start + 1)


def _is_at_word_boundaries(offsets: Sequence[ChunkOffset | None]) -> bool:
    """Returns whether the first letter begins a word and the last one ends a word."""
    first, last = offsets[0], offsets[-1]
    before = first[0].text[first[1] - 1 : first[1]] if first else ""
    after = last[0].text[last[1] + 1 : last[1] + 2] if last else ""
    return not (before.isalnum() or after.isalnum())


def iterate_page_texts(chunks: Sequence[Chunk]) -> Iterator[tuple[str, Chunk | None]]:
    """Yields the texts of a page in reading order; headings have no chunk."""
    above: tuple[str, ...] = ()
    for chunk in chunks:
        names = (chunk.place.title, *chunk.place.headings)
        kept = next((i for i, (one, other) in enumerate(zip(above, names, strict=False)) if one != other), len(above))
        yield from ((name, None) for name in names[kept:])
        yield chunk.text, chunk
        above = names


def _iterate_page_letters(chunks: Sequence[Chunk]) -> Iterator[tuple[ChunkOffset | None, str]]:
    """Yields the letters of a page in reading order, each with its offset in a chunk, if it has one."""
    for text, chunk in iterate_page_texts(chunks):
        yield from (((chunk, i) if chunk else None, letter) for i, letter in _normalize_letters(text))


def _map_characters(selection: str, i: int, chunk: Chunk, j: int) -> Iterator[SourceSpan]:
    """Maps a letter of the selection to the source, and the equal punctuation after it."""
    while True:
        yield SourceSpan(i, 1, *chunk.source_span(j, j + 1))
        i, j = i + 1, j + 1
        if selection[i : i + 1].isalnum() or selection[i : i + 1] != chunk.text[j : j + 1] or i == len(selection):
            return


def _build_selected_units(
    selection: str, letters: list[int], offsets: list[ChunkOffset | None]
) -> Iterator[QuotableUnit]:
    """Yields the selected parts of the units of the book, because only the book tells code from prose."""
    start = 0
    for unit, found in groupby(range(len(letters)), lambda n: _get_unit_at(offsets[n])):
        *_, last = found
        after = letters[last + 1] if last + 1 < len(letters) else len(selection)
        gap = selection[letters[last] + 1 : after]
        # The unit includes what follows its last letter up to the end of the line, or else up to a space.
        closing = gap if after == len(selection) else gap.partition("\n" if "\n" in gap else " ")[0]
        end = letters[last] + 1 + len(closing)
        yield QuotableUnit(unit.kind, start, end).trimmed(selection)
        start = end


def _get_unit_at(at: ChunkOffset | None) -> QuotableUnit:
    """Returns the unit of the book that contains a letter."""
    if at is None:
        return QuotableUnit("heading", 0, 0)
    chunk, i = at
    before = bisect_right(chunk.units, i, key=lambda unit: unit.start) - 1
    return chunk.units[before] if before >= 0 else QuotableUnit("sentence", 0, i)


def _normalize_letters(text: str) -> list[tuple[int, str]]:
    return [(i, low) for i, c in enumerate(text) if c.isalnum() and len(low := c.lower()) == 1]
