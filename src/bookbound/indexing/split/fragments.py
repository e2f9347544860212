"""Cuts blocks into fragments that fit the token budget and into units that an answer can quote."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import NamedTuple

from bookbound.domain.chunk import Chunk, Place, QuotableUnit, UnitKind
from bookbound.domain.document import Block, BlockKind
from bookbound.domain.errors import ConfigError
from bookbound.text import split_sentences

CharSpan = tuple[int, int]
# What it costs to start a chunk at a fragment, relative to a chunk as far from its target size as possible, which
# costs 1. Fragments with a cost of 2 or more start a chunk only if they do not fit into the one before.
FREE_BREAK = 0.0
ITEM_BREAK = 0.1
BLANK_LINE_BREAK = 0.2
SENTENCE_BREAK = 0.3
EXAMPLE_BREAK = 0.3
LINE_BREAK = 0.4
WORD_BREAK = 1.0
WHOLE_LIST_BREAK = 2.0
LEAD_IN_BREAK = 3.0
MAX_LABEL_CHARS = 60
"""A longer line without punctuation at its end does not count as a label of what follows."""
MAX_WHOLE_ITEM_CHARS = 320
"""A longer list item is quoted by its sentences."""
_MAX_SPACE_DISTANCE = 1_000  # a longer stretch without a space is no text, such as an embedded picture
_WHOLE_BLOCK_UNITS: Mapping[BlockKind, UnitKind] = {
    **{"heading": "heading", "code": "code", "formula": "formula", "row": "row"},
}


class Fragment(NamedTuple):
    """Words that stay together, and the cost of starting a chunk with them."""

    start: int
    end: int
    break_cost: float


class TokenBudget:
    """The tokens that remain for the text of one section next to its heading path."""

    def __init__(self, text: str, place: Place, count_tokens: Callable[[str], int], max_tokens: int) -> None:
        self._text, self._place = text, place
        self._count, self._max_tokens = count_tokens, max_tokens
        self._empty = count_tokens("")  # what every text costs: the tokens that open and close it
        self.used = count_tokens(Chunk("", "", place, 0).embedding_text)
        self.remaining = max_tokens - self.used

    def size(self, start: int, end: int) -> int:
        """Estimates how many tokens this text adds to a chunk."""
        return max(1, self._count(self._text[start:end]) - self._empty)

    def fits(self, start: int, end: int) -> bool:
        return self.size(start, end) <= self.remaining

    def split_to_fit(self, spans: list[CharSpan]) -> Iterator[CharSpan]:
        """Joins the spans, and halves the result as long as the sum of the estimates was too low."""
        start, end = spans[0][0], spans[-1][1]
        if self._count(Chunk("", self._text[start:end], self._place, 0).embedding_text) <= self._max_tokens:
            yield start, end
            return
        parts = spans if len(spans) > 1 else list(_halve_span(self._text, start, end))
        if parts == [(start, end)]:
            raise ConfigError(
                "The embedder reads too few tokens for a heading and a word. Choose an embedder that reads 256 tokens."
            )
        middle = len(parts) // 2
        for half in (parts[:middle], parts[middle:]):
            yield from self.split_to_fit(half) if half else ()


def fill_gaps(text: str, blocks: tuple[Block, ...], start: int, end: int, gap_kind: BlockKind) -> Iterator[Block]:
    """Yields the blocks with text between `start` and `end`, and the text between them as blocks of `gap_kind`."""
    for block in (*blocks, Block("paragraph", end, end)):
        yield from (Block(gap_kind, *span) for span in _paragraph_spans(text, start, max(start, block.start)))
        if text[block.start : block.end].strip():
            yield block
        start = max(start, block.end)


def split_blocks(
    text: str, blocks: tuple[Block, ...], budget: TokenBudget, min_cost: float = FREE_BREAK
) -> list[Fragment]:
    """Splits neighbouring blocks into fragments that each fit into a chunk."""
    fragments: list[Fragment] = []
    previous: Block | None = None
    for block in blocks:
        first, *rest = _split_block(text, block, budget)
        fragments += [first._replace(break_cost=max(min_cost, _break_cost(text, previous, block))), *rest]
        previous = block
    return fragments


def find_quotable_units(text: str, blocks: Iterable[Block]) -> Iterator[QuotableUnit]:
    """Yields the units of neighbouring blocks in reading order; together they contain every word."""
    for block in blocks:
        if kind := _WHOLE_BLOCK_UNITS.get(block.kind):
            yield QuotableUnit(kind, block.start, block.end).trimmed(text)
        elif block.kind == "item":
            yield from _item_units(text, block)
        elif block.children:
            yield from find_quotable_units(text, _child_blocks(text, block))
        elif block.kind == "table":
            lines = _line_spans(text, block.start, block.end)
            yield from (QuotableUnit("row", *line).trimmed(text) for line in lines)
        else:
            yield from _sentence_units(text, block)


def slice_units(text: str, units: Sequence[QuotableUnit], start: int, end: int) -> tuple[QuotableUnit, ...]:
    """Returns the parts of the units between characters `start` and `end`, counted from `start`."""
    first = bisect_right(units, start, key=lambda unit: unit.end)
    last = bisect_left(units, end, key=lambda unit: unit.start)
    cut = (QuotableUnit(kind, max(a, start), min(b, end)).trimmed(text) for kind, a, b in units[first:last])
    return tuple(QuotableUnit(kind, a - start, b - start) for kind, a, b in cut if a < b)


def is_inside_unit(units: Sequence[QuotableUnit], at: int) -> bool:
    """Returns whether a unit has words both before and after a position."""
    before = bisect_left(units, at, key=lambda unit: unit.start) - 1
    return before >= 0 and units[before].end > at


def _split_block(text: str, block: Block, budget: TokenBudget) -> list[Fragment]:
    """Returns a block as one fragment if it fits, or else its parts.

    A list is always split: if it does not fit together with its lead-in, the lead-in keeps the first items.
    """
    fits = budget.fits(block.start, block.end)
    if fits and block.kind != "list":
        return [Fragment(block.start, block.end, FREE_BREAK)]
    if block.children:
        # Text of a block outside its children, such as the title of a note, introduces what follows.
        parts = tuple(fill_gaps(text, block.children, block.start, block.end, "heading"))
        return split_blocks(text, parts, budget, WHOLE_LIST_BREAK if fits else ITEM_BREAK)
    rules = _LINE_RULES if block.kind in ("code", "table", "formula") else _SENTENCE_RULES
    return list(_split_span(text, block.start, block.end, budget, rules))


def _split_span(
    text: str, start: int, end: int, budget: TokenBudget, rules: tuple[SplitRule, ...], break_cost: float = FREE_BREAK
) -> Iterator[Fragment]:
    """Yields a span as one fragment if it fits, or else cuts it by the first rule, and the parts by the next rules."""
    if budget.fits(start, end) or end - start == 1:
        yield Fragment(start, end, break_cost)
        return
    inner_cost, cut = rules[0]
    for i, (a, b) in enumerate(cut(text, start, end)):
        yield from _split_span(text, a, b, budget, rules[1:] or rules, inner_cost if i else break_cost)


def _break_cost(text: str, previous: Block | None, block: Block) -> float:
    if previous is None:
        return FREE_BREAK
    is_introduced = previous.kind == "paragraph" and block.kind == "formula"
    is_continued = previous.kind == "formula" and text[block.start : block.end].lstrip()[0].islower()
    if _introduces_next(text, previous) or is_introduced or is_continued:
        return LEAD_IN_BREAK
    return EXAMPLE_BREAK if previous.kind == "paragraph" and block.kind in ("code", "table", "list") else FREE_BREAK


def _introduces_next(text: str, block: Block) -> bool:
    """Whether a block is a heading, ends with a colon, or is a short line that is not a sentence."""
    words = text[block.start : block.end].rstrip()
    is_label = block.kind == "paragraph" and len(words) <= MAX_LABEL_CHARS and (words[-1].isalnum() or words[-1] == ")")
    return block.kind == "heading" or is_label or words.endswith((":", "："))


def _halve_span(text: str, start: int, end: int) -> Iterator[CharSpan]:
    """Cuts a span at the space nearest its middle, or in the middle if none is near; blank halves are dropped."""
    middle = (start + end) // 2
    distance = min(middle - start, _MAX_SPACE_DISTANCE)
    spaces = (at for step in range(distance) for at in (middle - step, middle + step) if text[at].isspace())
    cut = next(spaces, middle)
    yield from ((a, b) for a, b in ((start, cut), (cut + text[cut].isspace(), end)) if text[a:b].strip())


def _sentence_spans(text: str, start: int, end: int) -> Iterator[CharSpan]:
    return ((start + a, start + b) for _, a, b in split_sentences(text[start:end]))


def _spans_between(gap: re.Pattern[str], text: str, start: int, end: int) -> Iterator[CharSpan]:
    """Yields the spans with words between gaps."""
    for found in gap.finditer(text, start, end):
        if text[start : found.start()].strip():
            yield start, found.start()
        start = found.end()
    if text[start:end].strip():
        yield start, end


_paragraph_spans = partial(_spans_between, re.compile(r"\n(?:[^\S\n]*\n)+"))
_line_spans = partial(_spans_between, re.compile(r"\n"))
SplitRule = tuple[float, Callable[[str, int, int], Iterator[CharSpan]]]
_LINE_RULES: tuple[SplitRule, ...] = (
    (BLANK_LINE_BREAK, _paragraph_spans),
    (LINE_BREAK, _line_spans),
    (WORD_BREAK, _halve_span),
)
_SENTENCE_RULES: tuple[SplitRule, ...] = ((SENTENCE_BREAK, _sentence_spans), (WORD_BREAK, _halve_span))


def _child_blocks(text: str, block: Block) -> Iterator[Block]:
    return fill_gaps(text, block.children, block.start, block.end, "paragraph")


def _item_units(text: str, item: Block) -> Iterator[QuotableUnit]:
    """Yields a short single paragraph as one unit and others by their sentences; nested blocks keep their own units."""
    marker, *parts = _child_blocks(text, item)
    if not (parts and item.children and marker.end <= item.children[0].start and parts[0].kind == "paragraph"):
        marker, parts = Block("paragraph", item.start, item.start), [marker, *parts]
    paragraphs = [part for part in parts if part.kind == "paragraph"]
    is_whole = len(paragraphs) == 1 and paragraphs[0].end - marker.start <= MAX_WHOLE_ITEM_CHARS
    for part in parts:
        if part.kind != "paragraph":
            yield from find_quotable_units(text, [part])
            continue
        whole = QuotableUnit("item", part.start, part.end).trimmed(text)
        units = [whole] if is_whole else list(_sentence_units(text, part))
        if part is parts[0] and marker.end > marker.start:
            # The marker belongs to the words after it.
            units[0] = QuotableUnit("item", marker.start, units[0].end).trimmed(text)
        yield from units


def _sentence_units(text: str, block: Block) -> Iterator[QuotableUnit]:
    for kind, start, end in split_sentences(text[block.start : block.end]):
        yield QuotableUnit(kind, block.start + start, block.start + end)
