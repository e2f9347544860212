"""Cuts blocks into fragments that fit the token budget and into units that an answer can quote."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from bookbound.domain.chunk import Chunk, Place, QuotableUnit, UnitKind
from bookbound.domain.document import Block, BlockKind
from bookbound.domain.errors import ConfigError
from bookbound.text.sentences import split_sentences

CharSpan = tuple[int, int]
_MAX_SPACE_DISTANCE = 1_000


class TokenBudget:
    """What the budget leaves for the words of one place, beside the heading path that goes before them."""

    def __init__(self, text: str, place: Place, count: Callable[[str], int], budget: int) -> None:
        self._text, self._place, self._count, self._budget = text, place, count, budget
        self._empty = count("")
        self.taken = count(Chunk("", "", place, 0).embedded)
        self.left = budget - self.taken

    def size(self, start: int, end: int) -> int:
        """About how many tokens these words add to a chunk."""
        return max(1, self._count(self._text[start:end]) - self._empty)

    def fits(self, start: int, end: int) -> bool:
        """Whether these words seem to fit into a chunk by themselves."""
        return self.size(start, end) <= self.left

    def confirmed(self, spans: list[CharSpan]) -> Iterator[CharSpan]:
        """The stretch of all spans as one, once it is sure to fit; in halves where the sum of the parts misled."""
        start, end = spans[0][0], spans[-1][1]
        if self._count(Chunk("", self._text[start:end], self._place, 0).embedded) <= self._budget:
            yield start, end
            return
        parts = spans if len(spans) > 1 else list(halve_span(self._text, start, end))
        if parts == [(start, end)]:
            raise ConfigError("The embedder reads too few tokens for a heading and a word: choose one that reads 256.")
        middle = len(parts) // 2
        for half in (parts[:middle], parts[middle:]):
            yield from self.confirmed(half) if half else ()


def halve_span(text: str, start: int, end: int) -> Iterator[CharSpan]:
    """A span in two at the space nearest its middle, or in its middle where none is near; what is blank goes."""
    middle = (start + end) // 2
    near = min(middle - start, _MAX_SPACE_DISTANCE)
    spaces = (at for step in range(near) for at in (middle - step, middle + step) if text[at].isspace())
    cut = next(spaces, middle)
    yield from ((a, b) for a, b in ((start, cut), (cut + text[cut].isspace(), end)) if text[a:b].strip())


# What parting a piece from the one before costs, where a chunk as far from its target as can be costs 1:
# at 2 and more, pieces are parted only where they cannot fit together.
(
    FREE_BREAK,
    ITEM_BREAK,
    BLANK_LINE_BREAK,
    SENTENCE_BREAK,
    EXAMPLE_BREAK,
    LINE_BREAK,
    WORD_BREAK,
    WHOLE_LIST_BREAK,
    LEAD_IN_BREAK,
) = 0.0, 0.1, 0.2, 0.3, 0.3, 0.4, 1.0, 2.0, 3.0
MAX_LABEL_CHARS = 60
"""The most characters of a line that heads what follows without being marked as a heading."""
SplitRule = tuple[float, Callable[[str, int, int], Iterator[CharSpan]]]


class Fragment(NamedTuple):
    """Words that stay together, and what parting them from the piece before would cost."""

    start: int
    end: int
    bond: float

    @property
    def span(self) -> CharSpan:
        return self.start, self.end


def fill_gaps(text: str, blocks: tuple[Block, ...], start: int, end: int, between: BlockKind) -> Iterator[Block]:
    """The blocks between `start` and `end` that hold words, and as blocks of a kind the words that stand in none."""
    for block in (*blocks, Block("paragraph", end, end)):
        yield from (Block(between, *span) for span in _paragraph_spans(text, start, max(start, block.start)))
        if text[block.start : block.end].strip():
            yield block
        start = max(start, block.end)


def split_blocks(text: str, blocks: tuple[Block, ...], room: TokenBudget, within: float = FREE_BREAK) -> list[Fragment]:
    """The pieces of blocks that stand side by side, each no larger than a chunk."""
    found: list[Fragment] = []
    before: Block | None = None
    for block in blocks:
        first, *rest = _split_block(text, block, room)
        found += [first._replace(bond=max(within, _break_cost(text, before, block))), *rest]
        before = block
    return found


def _split_block(text: str, block: Block, room: TokenBudget) -> list[Fragment]:
    """A block as one piece where it fits, else by its parts.

    A list is always opened: where list and lead-in do not fit together, the lead-in keeps the first items.
    """
    whole = room.fits(block.start, block.end)
    if whole and block.kind != "list":
        return [Fragment(block.start, block.end, FREE_BREAK)]
    if block.children:
        # Words of a block outside its children, such as the title of a note, head what follows them.
        parts = tuple(fill_gaps(text, block.children, block.start, block.end, "heading"))
        return split_blocks(text, parts, room, WHOLE_LIST_BREAK if whole else ITEM_BREAK)
    return list(
        _split_span(
            text, block.start, block.end, room, _LINE_RULES if block.kind in _LINE_BASED_KINDS else _SENTENCE_RULES
        )
    )


def _break_cost(text: str, before: Block | None, block: Block) -> float:
    """How strongly two blocks side by side hold together."""
    if before is None:
        return FREE_BREAK
    introduced = before.kind == "paragraph" and block.kind == "formula"
    goes_on = before.kind == "formula" and text[block.start : block.end].lstrip()[0].islower()
    if _introduces_next(text, before) or introduced or goes_on:
        return LEAD_IN_BREAK
    return EXAMPLE_BREAK if before.kind == "paragraph" and block.kind in ("code", "table", "list") else FREE_BREAK


def _introduces_next(text: str, block: Block) -> bool:
    """Whether a block says little without the next: a heading, words up to a colon, a line that is no sentence."""
    words = text[block.start : block.end].rstrip()
    label = block.kind == "paragraph" and len(words) <= MAX_LABEL_CHARS and (words[-1].isalnum() or words[-1] == ")")
    return block.kind == "heading" or label or words.endswith((":", "："))


def _split_span(
    text: str, start: int, end: int, room: TokenBudget, ways: tuple[SplitRule, ...], bond: float = FREE_BREAK
) -> Iterator[Fragment]:
    """A span as one piece where it fits, else cut in the first of the ways, and what is still too large in the next."""
    if room.fits(start, end) or end - start == 1:
        yield Fragment(start, end, bond)
        return
    parting, way = ways[0]
    for i, (a, b) in enumerate(way(text, start, end)):
        yield from _split_span(text, a, b, room, ways[1:] or ways, parting if i else bond)


def _sentence_spans(text: str, start: int, end: int) -> Iterator[CharSpan]:
    return ((start + a, start + b) for _, a, b in split_sentences(text[start:end]))


def _paragraph_spans(text: str, start: int, end: int) -> Iterator[CharSpan]:
    return _spans_between(_BLANK_LINES, text, start, end)


def line_spans(text: str, start: int, end: int) -> Iterator[CharSpan]:
    """The lines that hold words."""
    return _spans_between(_NEW_LINE, text, start, end)


def _spans_between(gap: re.Pattern[str], text: str, start: int, end: int) -> Iterator[CharSpan]:
    """The spans with words between gaps."""
    for found in gap.finditer(text, start, end):
        if text[start : found.start()].strip():
            yield start, found.start()
        start = found.end()
    if text[start:end].strip():
        yield start, end


_BLANK_LINES, _NEW_LINE = re.compile(r"\n(?:[^\S\n]*\n)+"), re.compile(r"\n")
_LINE_BASED_KINDS = ("code", "table", "formula")
_LINE_RULES: tuple[SplitRule, ...] = (
    (BLANK_LINE_BREAK, _paragraph_spans),
    (LINE_BREAK, line_spans),
    (WORD_BREAK, halve_span),
)
_SENTENCE_RULES: tuple[SplitRule, ...] = ((SENTENCE_BREAK, _sentence_spans), (WORD_BREAK, halve_span))
MAX_WHOLE_ITEM_CHARS = 320
"""From how many characters on a list item is quoted by its sentences."""
_WHOLE_BLOCK_UNITS: Mapping[BlockKind, UnitKind] = {
    "heading": "heading",
    "code": "code",
    "formula": "formula",
    "row": "row",
}


def find_quotable_units(text: str, blocks: Iterable[Block]) -> Iterator[QuotableUnit]:
    """The units of blocks that stand side by side, in reading order; every word stands in one."""
    for block in blocks:
        if kind := _WHOLE_BLOCK_UNITS.get(block.kind):
            yield QuotableUnit(kind, block.start, block.end).trimmed(text)
        elif block.kind == "item":
            yield from _item_units(text, block)
        elif block.children:
            yield from find_quotable_units(text, _child_blocks(text, block))
        elif block.kind == "table":
            yield from (QuotableUnit("row", *line).trimmed(text) for line in line_spans(text, block.start, block.end))
        else:
            yield from _sentence_units(text, block)


def slice_units(text: str, found: Sequence[QuotableUnit], start: int, end: int) -> tuple[QuotableUnit, ...]:
    """The units of characters `start` to `end`, counted from `start`, each as far as it lies there."""
    touched = slice(
        bisect_right(found, start, key=lambda unit: unit.end), bisect_left(found, end, key=lambda unit: unit.start)
    )
    within = (QuotableUnit(kind, max(a, start), min(b, end)).trimmed(text) for kind, a, b in found[touched])
    return tuple(QuotableUnit(kind, a - start, b - start) for kind, a, b in within if a < b)


def _child_blocks(text: str, block: Block) -> Iterator[Block]:
    return fill_gaps(text, block.children, block.start, block.end, "paragraph")


def _item_units(text: str, item: Block) -> Iterator[QuotableUnit]:
    """An item of one short paragraph is quoted whole, another by its sentences; what it holds besides, as it is."""
    marker, *parts = _child_blocks(text, item)
    if not (parts and item.children and marker.end <= item.children[0].start and parts[0].kind == "paragraph"):
        marker, parts = Block("paragraph", item.start, item.start), [marker, *parts]
    spoken = [part for part in parts if part.kind == "paragraph"]
    whole = len(spoken) == 1 and spoken[0].end - marker.start <= MAX_WHOLE_ITEM_CHARS
    for part in parts:
        if part.kind != "paragraph":
            yield from find_quotable_units(text, [part])
            continue
        found = (
            [QuotableUnit("item", part.start, part.end).trimmed(text)] if whole else list(_sentence_units(text, part))
        )
        if part is parts[0] and marker.end > marker.start:
            # The marker belongs to the words it stands before.
            found[0] = QuotableUnit("item", marker.start, found[0].end).trimmed(text)
        yield from found


def _sentence_units(text: str, block: Block) -> Iterator[QuotableUnit]:
    for kind, start, end in split_sentences(text[block.start : block.end]):
        yield QuotableUnit(kind, block.start + start, block.start + end)
