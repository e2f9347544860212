"""Splits a page into chunks that follow its sections and fit the embedder's token budget."""

from __future__ import annotations

import json
import re
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from math import inf
from typing import Any
from uuid import NAMESPACE_URL, uuid5

from bookbound.domain.chunk import Chunk, Place, QuotableUnit
from bookbound.domain.document import Block, Page, PageBreak, SourceSpan, find_source_span
from bookbound.indexing.split.fragments import (
    CharSpan,
    Fragment,
    TokenBudget,
    fill_gaps,
    find_quotable_units,
    slice_units,
    split_blocks,
)

SPLITTER_VERSION = "structure-4"
"""The name of these rules, which an index remembers."""
TARGET_FILL = 0.8
"""The share of the budget that chunks are filled to where the structure leaves a choice."""
MAX_CHUNK_CHARS = 4_000
"""The most characters of a chunk, path and all: an embedder may count a word without end as one token."""
_BLANK_LINES = re.compile(r"(?:[^\S\n]*\n)+")


def split_page(page: Page, count: Callable[[str], int], budget: int, target: float = TARGET_FILL) -> list[Chunk]:
    """The chunks of a page in reading order; none takes more than `budget` tokens as the embedder reads it."""

    @cache
    def size(text: str) -> int:
        by_length = -(-len(text) * budget // MAX_CHUNK_CHARS)
        return by_length if by_length > budget else max(by_length, count(text))

    chunks: list[Chunk] = []
    for section in find_sections(page):
        room = TokenBudget(page.text, _section_place(page, section), size, budget)
        quotable = list(find_quotable_units(page.text, section.blocks))
        for start, end in _chunk_spans(page.text, section, room, budget * target):
            chunks.append(_make_chunk(page, section, quotable, start, end, len(chunks)))
    return _assign_ids(chunks)


def _chunk_spans(text: str, section: PageSection, room: TokenBudget, target: float) -> Iterator[CharSpan]:
    """The spans of a section's chunks, without the blank lines around them."""
    parts = split_blocks(text, section.blocks, room)
    sizes = [room.size(*part.span) for part in parts]
    for first, last in pack_fragments(parts, sizes, room.left, target - room.taken):
        for start, end in room.confirmed([part.span for part in parts[first:last]]):
            words = text[start:end].rstrip()
            blank = _BLANK_LINES.match(words)
            yield start + (blank.end() if blank else 0), start + len(words)


def _section_place(page: Page, section: PageSection) -> Place:
    return Place(page.file, page.url, page.chapter, page.title, section.names(page), section.anchor, 0, 0)


def _make_chunk(
    page: Page, section: PageSection, quotable: list[QuotableUnit], start: int, end: int, position: int
) -> Chunk:
    runs = _slice_source_spans(page.runs, start, end)
    first, last = find_source_span(runs, 0, end - start) if runs else find_source_span(page.runs, start, end)
    opens = {"anchor": section.anchor_at(start)} | _page_break_fields(page.leaves, start)
    place = replace(_section_place(page, section), start=first, end=last, **opens)
    return Chunk("", page.text[start:end], place, position, runs, slice_units(page.text, quotable, start, end))


def _page_break_fields(leaves: tuple[PageBreak, ...], start: int) -> dict[str, Any]:
    """What the printed page at `start` says of a place."""
    at = bisect_right(leaves, start, key=lambda leaf: leaf.at)
    if not at:
        return {}
    leaf = leaves[at - 1]
    return {"page": leaf.number, "label": leaf.label} | ({"anchor": leaf.anchor} if leaf.anchor else {})


def _slice_source_spans(runs: tuple[SourceSpan, ...], start: int, end: int) -> tuple[SourceSpan, ...]:
    """The runs of characters `start` to `end`, counted from `start`; one that is no verbatim copy stays whole."""
    touched = slice(
        bisect_right(runs, start, key=lambda run: run.at + run.length), bisect_left(runs, end, key=lambda run: run.at)
    )
    cut = []
    for at, length, first, last in runs[touched]:
        if last - first == length:
            a, b = max(at, start), min(at + length, end)
            cut.append(SourceSpan(a - start, b - a, first + a - at, first + b - at))
        else:
            cut.append(SourceSpan(at - start, length, first, last))
    return tuple(cut)


def _assign_ids(chunks: list[Chunk]) -> list[Chunk]:
    """The chunks with ids made from place and words alone, so that what changes elsewhere leaves them as they are."""
    seen: Counter[str] = Counter()
    named = []
    for chunk in chunks:
        place = chunk.place
        key = json.dumps([place.file, place.path, place.anchor, chunk.text.split()])
        named.append(replace(chunk, id=str(uuid5(NAMESPACE_URL, f"{key}{seen[key]}"))))
        seen[key] += 1
    return named


@dataclass(frozen=True, slots=True)
class PageSection:
    """The blocks from a heading to the next, and the headings they stand under, but for the page's title."""

    under: tuple[Block, ...]
    heading: Block | None
    blocks: tuple[Block, ...] = ()

    @property
    def anchor(self) -> str:
        return next((heading.anchor for heading in reversed(self.under) if heading.anchor), "")

    def anchor_at(self, start: int) -> str:
        """The anchor of the innermost block with one that holds a character, else that of the section."""
        found, blocks = self.anchor, self.blocks
        while at := bisect_right(blocks, start, key=lambda block: block.start):
            block = blocks[at - 1]
            if start >= block.end:
                break
            found, blocks = block.anchor or found, block.children
        return found

    def names(self, page: Page) -> tuple[str, ...]:
        return tuple(name for heading in self.under if (name := _heading_text(page, heading)))

    def holds(self, other: PageSection) -> bool:
        """Whether the other is a subsection of this one."""
        depth = len(self.under)
        return len(other.under) > depth and other.under[:depth] == self.under


def find_sections(page: Page) -> list[PageSection]:
    """The sections of a page that hold words of their own; a heading over subsections alone lives in their names."""
    found = [PageSection((), None)]
    bodies: list[list[Block]] = [[]]
    for block in fill_gaps(page.text, page.blocks, 0, len(page.text), "paragraph"):
        if block.kind != "heading":
            bodies[-1].append(block)
            continue
        is_title = block.level <= 1 and _heading_text(page, block) == _normalize_spaces(page.title)
        above = (heading for heading in found[-1].under if heading.level < block.level)
        found.append(PageSection(() if is_title else (*above, block), block))
        bodies.append([])
    found = [replace(section, blocks=tuple(body)) for section, body in zip(found, bodies, strict=True)]
    return [kept for i, section in enumerate(found) if (kept := _section_with_body(section, found[i + 1 : i + 2]))]


def _section_with_body(section: PageSection, after: list[PageSection]) -> PageSection | None:
    """The section if it has a body, its heading as its body if nothing else would hold that, or nothing."""
    if section.blocks:
        return section
    if section.heading is None or (after and section.holds(after[0])):
        return None
    return replace(section, heading=None, blocks=(section.heading,))


def _heading_text(page: Page, heading: Block) -> str:
    return _normalize_spaces(page.text[heading.start : heading.end])


def _normalize_spaces(text: str) -> str:
    return " ".join(text.split())


def pack_fragments(pieces: Sequence[Fragment], sizes: Sequence[int], most: int, target: float) -> list[tuple[int, int]]:
    """The pieces as consecutive groups of at most `most` tokens: the groups that cost least in all.

    A group costs the square of how far it is from the target, and the bond that it breaks at its start.
    """
    target = max(1.0, target)
    costs = [0.0, *(inf for _ in pieces)]
    starts = [0] * len(costs)
    for end in range(1, len(costs)):
        size = 0
        for start in range(end - 1, -1, -1):
            size += sizes[start]
            if size > most and start < end - 1:
                break
            parting = pieces[start].bond if start else 0.0
            cost = costs[start] + parting + (size / target - 1) ** 2
            if cost < costs[end]:
                costs[end], starts[end] = cost, start
    groups = []
    end = len(pieces)
    while end:
        groups.append((starts[end], end))
        end = starts[end]
    return groups[::-1]
