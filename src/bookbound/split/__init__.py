"""A page becomes chunks: stretches of its words that follow its structure and fit the embedder."""

from __future__ import annotations

import json
import re
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache
from typing import Any
from uuid import NAMESPACE_URL, uuid5

from bookbound.book import Chunk, Leaf, Page, Place, Run, Unit, source_span
from bookbound.split.pack import packed
from bookbound.split.pieces import pieces
from bookbound.split.room import Room, Span
from bookbound.split.sections import Section, sections
from bookbound.split.units import cut, units

SPLITTER = "structure-4"
"""The name of these rules, which an index remembers."""

TARGET = 0.8
"""The share of the budget that chunks are filled to where the structure leaves a choice."""

LONGEST = 4_000
"""The most characters of a chunk, path and all: an embedder may count a word without end as one token."""

_BLANK_LINES = re.compile(r"(?:[^\S\n]*\n)+")


def split(page: Page, count: Callable[[str], int], budget: int, target: float = TARGET) -> list[Chunk]:
    """The chunks of a page in reading order; none takes more than `budget` tokens as the embedder reads it."""

    @cache
    def size(text: str) -> int:
        by_length = -(-len(text) * budget // LONGEST)
        return by_length if by_length > budget else max(by_length, count(text))

    chunks: list[Chunk] = []
    for section in sections(page):
        room = Room(page.text, _place(page, section), size, budget)
        quotable = list(units(page.text, section.blocks))
        for start, end in _spans(page.text, section, room, budget * target):
            chunks.append(_chunk(page, section, quotable, start, end, len(chunks)))
    return _named(chunks)


def _spans(text: str, section: Section, room: Room, target: float) -> Iterator[Span]:
    """The spans of a section's chunks, without the blank lines around them."""
    parts = pieces(text, section.blocks, room)
    sizes = [room.size(*part.span) for part in parts]
    for first, last in packed(parts, sizes, room.left, target - room.taken):
        for start, end in room.confirmed([part.span for part in parts[first:last]]):
            words = text[start:end].rstrip()
            blank = _BLANK_LINES.match(words)
            yield start + (blank.end() if blank else 0), start + len(words)


def _place(page: Page, section: Section) -> Place:
    return Place(page.file, page.url, page.chapter, page.title, section.names(page), section.anchor, 0, 0)


def _chunk(page: Page, section: Section, quotable: list[Unit], start: int, end: int, position: int) -> Chunk:
    runs = _cut(page.runs, start, end)
    first, last = source_span(runs, 0, end - start) if runs else source_span(page.runs, start, end)
    opens = {"anchor": section.anchor_at(start)} | _leaf(page.leaves, start)
    place = replace(_place(page, section), start=first, end=last, **opens)
    return Chunk("", page.text[start:end], place, position, runs, cut(page.text, quotable, start, end))


def _leaf(leaves: tuple[Leaf, ...], start: int) -> dict[str, Any]:
    """What the printed page at `start` says of a place."""
    at = bisect_right(leaves, start, key=lambda leaf: leaf.at)
    if not at:
        return {}
    leaf = leaves[at - 1]
    return {"page": leaf.number, "label": leaf.label} | ({"anchor": leaf.anchor} if leaf.anchor else {})


def _cut(runs: tuple[Run, ...], start: int, end: int) -> tuple[Run, ...]:
    """The runs of characters `start` to `end`, counted from `start`; one that is no verbatim copy stays whole."""
    touched = slice(
        bisect_right(runs, start, key=lambda run: run.at + run.length), bisect_left(runs, end, key=lambda run: run.at)
    )
    cut = []
    for at, length, first, last in runs[touched]:
        if last - first == length:
            a, b = max(at, start), min(at + length, end)
            cut.append(Run(a - start, b - a, first + a - at, first + b - at))
        else:
            cut.append(Run(at - start, length, first, last))
    return tuple(cut)


def _named(chunks: list[Chunk]) -> list[Chunk]:
    """The chunks with ids made from place and words alone, so that what changes elsewhere leaves them as they are."""
    seen: Counter[str] = Counter()
    named = []
    for chunk in chunks:
        place = chunk.place
        key = json.dumps([place.file, place.path, place.anchor, chunk.text.split()])
        named.append(replace(chunk, id=str(uuid5(NAMESPACE_URL, f"{key}{seen[key]}"))))
        seen[key] += 1
    return named
