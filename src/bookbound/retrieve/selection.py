"""Where a reader's selection stands in the book."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from bookbound.book import Chunk, Place, Run
from bookbound.dialogue import SELECTION_ID
from bookbound.ports import Index

CANDIDATES = 5
FOREIGN = "Selected text"


async def selected(selection: str, index: Index) -> Chunk:
    """The selection as a chunk of its own, with its place in the book where it is found there."""
    tried: set[str] = set()
    for candidate in await index.match(selection, CANDIDATES):
        if candidate.place.file not in tried:
            tried.add(candidate.place.file)
            if found := _find(selection, await index.chunks(candidate.place.file)):
                return found
    place = Place("", "", "", FOREIGN, (), "", 0, len(selection))
    return Chunk(SELECTION_ID, selection, place, 0, (Run(0, len(selection), 0, len(selection)),))


def _find(selection: str, chunks: list[Chunk]) -> Chunk | None:
    """The selection, where the letters of these chunks, one after the other, hold its letters.

    Only letters and digits are compared: a browser's selection has white space, quotes and bullets of its own.
    """
    wanted = _letters(selection)
    page = [(chunk, i, letter) for chunk in chunks for i, letter in _letters(chunk.text)]
    start = "".join(letter for _, _, letter in page).find("".join(letter for _, letter in wanted))
    if start < 0 or not wanted:
        return None
    there = [(chunk, j) for chunk, j, _ in page[start : start + len(wanted)]]
    runs = tuple(run for (i, _), at in zip(wanted, there, strict=True) for run in _from(selection, i, *at))
    first = there[0][0]
    place = replace(first.place, start=runs[0].start, end=runs[-1].end)
    return Chunk(SELECTION_ID, selection, place, first.position, runs)


def _from(selection: str, i: int, chunk: Chunk, j: int) -> Iterator[Run]:
    """A letter of the selection where it stands in the chunk, and the punctuation after it as far as they agree."""
    while True:
        yield Run(i, 1, *chunk.span(j, j + 1))
        i, j = i + 1, j + 1
        if selection[i : i + 1].isalnum() or selection[i : i + 1] != chunk.text[j : j + 1] or i == len(selection):
            return


def _letters(text: str) -> list[tuple[int, str]]:
    return [(i, low) for i, c in enumerate(text) if c.isalnum() and len(low := c.lower()) == 1]
