"""A section's blocks as the pieces that chunks are packed from."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import NamedTuple

from bookbound.book import Block, BlockKind
from bookbound.sentences import sentences
from bookbound.split.room import Room, Span, halves

# What parting a piece from the one before costs, where a chunk as far from its target as can be costs 1:
# at 2 and more, pieces are parted only where they cannot fit together.
FREE, ITEM, BLANK_LINE, SENTENCE, SHOWN, LINE, WORD, WHOLE, HELD = 0.0, 0.1, 0.2, 0.3, 0.3, 0.4, 1.0, 2.0, 3.0

LABEL = 60
"""The most characters of a line that heads what follows without being marked as a heading."""

Way = tuple[float, Callable[[str, int, int], Iterator[Span]]]


class Piece(NamedTuple):
    """Words that stay together, and what parting them from the piece before would cost."""

    start: int
    end: int
    bond: float

    @property
    def span(self) -> Span:
        return self.start, self.end


def tiled(text: str, blocks: tuple[Block, ...], start: int, end: int, between: BlockKind) -> Iterator[Block]:
    """The blocks between `start` and `end` that hold words, and as blocks of a kind the words that stand in none."""
    for block in (*blocks, Block("paragraph", end, end)):
        yield from (Block(between, *span) for span in _stanzas(text, start, max(start, block.start)))
        if text[block.start : block.end].strip():
            yield block
        start = max(start, block.end)


def pieces(text: str, blocks: tuple[Block, ...], room: Room, within: float = FREE) -> list[Piece]:
    """The pieces of blocks that stand side by side, each no larger than a chunk."""
    found: list[Piece] = []
    before: Block | None = None
    for block in blocks:
        first, *rest = _opened(text, block, room)
        found += [first._replace(bond=max(within, _bond(text, before, block))), *rest]
        before = block
    return found


def _opened(text: str, block: Block, room: Room) -> list[Piece]:
    """A block as one piece where it fits, else by its parts.

    A list is always opened: where list and lead-in do not fit together, the lead-in keeps the first items.
    """
    whole = room.fits(block.start, block.end)
    if whole and block.kind != "list":
        return [Piece(block.start, block.end, FREE)]
    if block.children:
        # Words of a block outside its children, such as the title of a note, head what follows them.
        parts = tuple(tiled(text, block.children, block.start, block.end, "heading"))
        return pieces(text, parts, room, WHOLE if whole else ITEM)
    return list(_cut(text, block.start, block.end, room, _BY_LINE if block.kind in _LINED else _BY_SENTENCE))


def _bond(text: str, before: Block | None, block: Block) -> float:
    """How strongly two blocks side by side hold together."""
    if before is None:
        return FREE
    introduced = before.kind == "paragraph" and block.kind == "formula"
    goes_on = before.kind == "formula" and text[block.start : block.end].lstrip()[0].islower()
    if _leads_in(text, before) or introduced or goes_on:
        return HELD
    return SHOWN if before.kind == "paragraph" and block.kind in ("code", "table", "list") else FREE


def _leads_in(text: str, block: Block) -> bool:
    """Whether a block says little without the next: a heading, words up to a colon, a line that is no sentence."""
    words = text[block.start : block.end].rstrip()
    label = block.kind == "paragraph" and len(words) <= LABEL and (words[-1].isalnum() or words[-1] == ")")
    return block.kind == "heading" or label or words.endswith((":", "："))


def _cut(text: str, start: int, end: int, room: Room, ways: tuple[Way, ...], bond: float = FREE) -> Iterator[Piece]:
    """A span as one piece where it fits, else cut in the first of the ways, and what is still too large in the next."""
    if room.fits(start, end) or end - start == 1:
        yield Piece(start, end, bond)
        return
    parting, way = ways[0]
    for i, (a, b) in enumerate(way(text, start, end)):
        yield from _cut(text, a, b, room, ways[1:] or ways, parting if i else bond)


def _sentences(text: str, start: int, end: int) -> Iterator[Span]:
    return ((start + a, start + b) for _, a, b in sentences(text[start:end]))


def _stanzas(text: str, start: int, end: int) -> Iterator[Span]:
    return _between(_BLANK_LINES, text, start, end)


def lines(text: str, start: int, end: int) -> Iterator[Span]:
    """The lines that hold words."""
    return _between(_NEW_LINE, text, start, end)


def _between(gap: re.Pattern[str], text: str, start: int, end: int) -> Iterator[Span]:
    """The spans with words between gaps."""
    for found in gap.finditer(text, start, end):
        if text[start : found.start()].strip():
            yield start, found.start()
        start = found.end()
    if text[start:end].strip():
        yield start, end


_BLANK_LINES, _NEW_LINE = re.compile(r"\n(?:[^\S\n]*\n)+"), re.compile(r"\n")
_LINED = ("code", "table", "formula")
_BY_LINE: tuple[Way, ...] = ((BLANK_LINE, _stanzas), (LINE, lines), (WORD, halves))
_BY_SENTENCE: tuple[Way, ...] = ((SENTENCE, _sentences), (WORD, halves))
