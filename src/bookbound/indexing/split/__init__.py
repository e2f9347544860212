"""Splits a page into chunks that follow its sections and fit the embedder's token budget."""

from __future__ import annotations

import json
import re
from bisect import bisect_left, bisect_right
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from math import inf
from uuid import NAMESPACE_URL, uuid5

from bookbound.domain.chunk import Chunk, Place, QuotableUnit
from bookbound.domain.document import Block, MarkupSpan, Page, SourceSpan, find_source_span
from bookbound.indexing.split.fragments import (
    CharSpan,
    Fragment,
    TokenBudget,
    fill_gaps,
    find_quotable_units,
    is_inside_unit,
    slice_units,
    split_blocks,
)

SPLITTER_VERSION = "structure-6"
"""Stored in the index, so that other rules do not reuse its chunks."""
TARGET_FILL = 0.8
"""The share of the token budget that chunks are filled to if the structure leaves a choice."""
MAX_CHUNK_CHARS = 4_000
"""Also limits a chunk with its heading path, because an embedder may count an endless word as one token."""
_BLANK_LINES = re.compile(r"(?:[^\S\n]*\n)+")


def split_page(page: Page, count_tokens: Callable[[str], int], max_tokens: int) -> list[Chunk]:
    """Returns the chunks of a page in reading order; the embedder can read each of them completely."""

    @cache
    def size(text: str) -> int:
        by_length = -(-len(text) * max_tokens // MAX_CHUNK_CHARS)
        return by_length if by_length > max_tokens else max(by_length, count_tokens(text))

    chunks: list[Chunk] = []
    for section in _find_sections(page):
        budget = TokenBudget(page.text, section.place(page), size, max_tokens)
        units = list(find_quotable_units(page.text, section.blocks))
        for start, end in _chunk_spans(page.text, section, budget, max_tokens * TARGET_FILL):
            chunks.append(_make_chunk(page, section, units, start, end, len(chunks)))
    return _assign_ids(list(_add_markup(chunks, (*_flatten_blocks(page.blocks), *page.markup))))


@dataclass(frozen=True, slots=True)
class PageSection:
    """The blocks from a heading to the next, and the headings above them, without the page's title."""

    headings: tuple[Block, ...]
    heading: Block | None
    blocks: tuple[Block, ...] = ()

    def anchor_at(self, start: int) -> str:
        """Returns the anchor of the innermost block around a character, or else that of the innermost heading."""
        anchor = next((heading.anchor for heading in reversed(self.headings) if heading.anchor), "")
        blocks = self.blocks
        while at := bisect_right(blocks, start, key=lambda block: block.start):
            block = blocks[at - 1]
            if start >= block.end:
                break
            anchor, blocks = block.anchor or anchor, block.children
        return anchor

    def place(self, page: Page) -> Place:
        names = tuple(name for heading in self.headings if (name := _heading_text(page, heading)))
        return Place(page.file, page.url, page.chapter, page.title, names, "", 0, 0)

    def contains(self, other: PageSection) -> bool:
        depth = len(self.headings)
        return len(other.headings) > depth and other.headings[:depth] == self.headings


def _find_sections(page: Page) -> list[PageSection]:
    """Returns the sections with text; a heading directly above a subsection survives in its heading path."""
    sections = [PageSection((), None)]
    bodies: list[list[Block]] = [[]]
    for block in fill_gaps(page.text, page.blocks, 0, len(page.text), "paragraph"):
        if block.kind != "heading":
            bodies[-1].append(block)
            continue
        is_title = block.level <= 1 and _heading_text(page, block) == " ".join(page.title.split())
        above = (heading for heading in sections[-1].headings if heading.level < block.level)
        sections.append(PageSection(() if is_title else (*above, block), block))
        bodies.append([])
    with_text = []
    for at, (section, body) in enumerate(zip(sections, bodies, strict=True)):
        if body:
            with_text.append(replace(section, blocks=tuple(body)))
        elif section.heading and not any(map(section.contains, sections[at + 1 : at + 2])):
            with_text.append(replace(section, blocks=(section.heading,)))
    return with_text


def _heading_text(page: Page, heading: Block) -> str:
    return " ".join(page.text[heading.start : heading.end].split())


def _chunk_spans(text: str, section: PageSection, budget: TokenBudget, target: float) -> Iterator[CharSpan]:
    """Yields the spans of a section's chunks, without surrounding blank lines."""
    fragments = split_blocks(text, section.blocks, budget)
    sizes = [budget.size(fragment.start, fragment.end) for fragment in fragments]
    for first, last in _pack_fragments(fragments, sizes, budget.remaining, target - budget.used):
        spans = [(fragment.start, fragment.end) for fragment in fragments[first:last]]
        for start, end in budget.split_to_fit(spans):
            words = text[start:end].rstrip()
            blank = _BLANK_LINES.match(words)
            yield _find_indentation(text, start + (blank.end() if blank else 0)), start + len(words)


def _find_indentation(text: str, start: int) -> int:
    """Returns where the spaces before a nested list item begin, or the start itself if it does not begin a line."""
    line = text.rfind("\n", 0, start) + 1
    return line if not text[line:start].strip(" ") else start


def _pack_fragments(
    fragments: Sequence[Fragment], sizes: Sequence[int], max_size: int, target: float
) -> list[tuple[int, int]]:
    """Groups consecutive fragments into chunks of at most `max_size` tokens with the least total cost.

    A chunk costs the square of its relative distance from the target size, and the break at its start.
    """
    target = max(1.0, target)
    costs = [0.0, *(inf for _ in fragments)]
    starts = [0] * len(costs)
    for end in range(1, len(costs)):
        size = 0
        for start in range(end - 1, -1, -1):
            size += sizes[start]
            if size > max_size and start < end - 1:
                break
            break_cost = fragments[start].break_cost if start else 0.0
            cost = costs[start] + break_cost + (size / target - 1) ** 2
            if cost < costs[end]:
                costs[end], starts[end] = cost, start
    groups = []
    end = len(fragments)
    while end:
        groups.append((starts[end], end))
        end = starts[end]
    return groups[::-1]


def _make_chunk(
    page: Page, section: PageSection, units: list[QuotableUnit], start: int, end: int, position: int
) -> Chunk:
    spans = _slice_source_spans(page.spans, start, end)
    first, last = find_source_span(spans, 0, end - start) if spans else find_source_span(page.spans, start, end)
    place = section.place(page).on_page(page.page_breaks, start, start=first, end=last, anchor=section.anchor_at(start))
    breaks = tuple(each._replace(at=each.at - start) for each in page.page_breaks if start < each.at < end)
    cuts = (is_inside_unit(units, start), is_inside_unit(units, end))
    units_inside = slice_units(page.text, units, start, end)
    return Chunk("", page.text[start:end], place, position, spans, units_inside, *cuts, breaks, start)


def _flatten_blocks(blocks: Iterable[Block]) -> Iterator[MarkupSpan]:
    for block in blocks:
        yield MarkupSpan(block.kind, block.start, block.end, block.variant)
        yield from _flatten_blocks(block.children)


def _add_markup(chunks: Iterable[Chunk], markup: Iterable[MarkupSpan]) -> Iterator[Chunk]:
    """Yields the chunks of a page, in order, with the spans that touch them; outer spans come first."""
    chunks, spans, touching = list(chunks), deque[MarkupSpan](), list[MarkupSpan]()
    pictures = dict[int, list[MarkupSpan]]()
    for span in sorted(markup, key=lambda span: (span.start, -span.end)):
        if span.kind == "picture" and chunks:
            offset, moved = _place_picture(chunks, span)
            pictures.setdefault(offset, []).append(moved)
        elif span.kind != "picture":
            spans.append(span)
    for chunk in chunks:
        while spans and spans[0].start < chunk.offset + len(chunk.text):
            touching.append(spans.popleft())
        touching = [span for span in touching if span.end > chunk.offset]
        yield replace(chunk, markup=(*touching, *pictures.pop(chunk.offset, ())))


def _place_picture(chunks: Sequence[Chunk], picture: MarkupSpan) -> tuple[int, MarkupSpan]:
    """Returns the offset of the chunk with a picture; one between heading and text is at the start of the text."""
    at = bisect_left(chunks, picture.start, key=lambda chunk: chunk.offset + len(chunk.text) + 1)
    chunk = chunks[min(at, len(chunks) - 1)]
    start = max(picture.start, chunk.offset)
    return chunk.offset, picture._replace(start=start, end=start)


def _slice_source_spans(spans: tuple[SourceSpan, ...], start: int, end: int) -> tuple[SourceSpan, ...]:
    """Returns the spans of characters `start` to `end`, counted from `start`; only verbatim copies can be cut."""
    first = bisect_right(spans, start, key=lambda span: span.at + span.length)
    last = bisect_left(spans, end, key=lambda span: span.at)
    sliced = []
    for at, length, source_start, source_end in spans[first:last]:
        if source_end - source_start == length:
            a, b = max(at, start), min(at + length, end)
            sliced.append(SourceSpan(a - start, b - a, source_start + a - at, source_start + b - at))
        else:
            sliced.append(SourceSpan(at - start, length, source_start, source_end))
    return tuple(sliced)


def _assign_ids(chunks: list[Chunk]) -> list[Chunk]:
    """Makes ids from place and words alone, so that changes elsewhere in the book do not affect them."""
    counts: Counter[str] = Counter()
    identified = []
    for chunk in chunks:
        place = chunk.place
        key = json.dumps([place.file, place.heading_path, place.anchor, chunk.text.split()])
        identified.append(replace(chunk, id=str(uuid5(NAMESPACE_URL, f"{key}{counts[key]}"))))
        counts[key] += 1
    return identified
