"""What of a section an answer can quote whole: sentences, code, rows, items, formulas."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence

from bookbound.book import Block, BlockKind, Unit, UnitKind
from bookbound.sentences import sentences
from bookbound.split.pieces import lines, tiled

LONG_ITEM = 320
"""From how many characters on a list item is quoted by its sentences."""

_WHOLE: Mapping[BlockKind, UnitKind] = {"heading": "heading", "code": "code", "formula": "formula", "row": "row"}


def units(text: str, blocks: Iterable[Block]) -> Iterator[Unit]:
    """The units of blocks that stand side by side, in reading order; every word stands in one."""
    for block in blocks:
        if kind := _WHOLE.get(block.kind):
            yield Unit(kind, block.start, block.end).trimmed(text)
        elif block.kind == "item":
            yield from _item(text, block)
        elif block.children:
            yield from units(text, _parts(text, block))
        elif block.kind == "table":
            yield from (Unit("row", *line).trimmed(text) for line in lines(text, block.start, block.end))
        else:
            yield from _sentences(text, block)


def cut(text: str, found: Sequence[Unit], start: int, end: int) -> tuple[Unit, ...]:
    """The units of characters `start` to `end`, counted from `start`, each as far as it lies there."""
    touched = slice(
        bisect_right(found, start, key=lambda unit: unit.end), bisect_left(found, end, key=lambda unit: unit.start)
    )
    within = (Unit(kind, max(a, start), min(b, end)).trimmed(text) for kind, a, b in found[touched])
    return tuple(Unit(kind, a - start, b - start) for kind, a, b in within if a < b)


def _parts(text: str, block: Block) -> Iterator[Block]:
    return tiled(text, block.children, block.start, block.end, "paragraph")


def _item(text: str, item: Block) -> Iterator[Unit]:
    """An item of one short paragraph is quoted whole, another by its sentences; what it holds besides, as it is."""
    marker, *parts = _parts(text, item)
    if not (parts and item.children and marker.end <= item.children[0].start and parts[0].kind == "paragraph"):
        marker, parts = Block("paragraph", item.start, item.start), [marker, *parts]
    spoken = [part for part in parts if part.kind == "paragraph"]
    whole = len(spoken) == 1 and spoken[0].end - marker.start <= LONG_ITEM
    for part in parts:
        if part.kind != "paragraph":
            yield from units(text, [part])
            continue
        found = [Unit("item", part.start, part.end).trimmed(text)] if whole else list(_sentences(text, part))
        if part is parts[0] and marker.end > marker.start:
            # The marker belongs to the words it stands before.
            found[0] = Unit("item", marker.start, found[0].end).trimmed(text)
        yield from found


def _sentences(text: str, block: Block) -> Iterator[Unit]:
    for kind, start, end in sentences(text[block.start : block.end]):
        yield Unit(kind, block.start + start, block.start + end)
