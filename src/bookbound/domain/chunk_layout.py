"""Describes how the units of a chunk belong together: lists, tables, labels and captions."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property

from bookbound.domain.chunk import Chunk, QuotableUnit

MAX_LABEL_CHARACTERS = 60
MAX_COLUMN_NAME_CHARACTERS = 40  # a longer cell is content
MAX_WHOLE_UNITS = 10
MAX_WHOLE_CHARACTERS = 900
"""A list or table that has no more is always quoted as a whole."""
_BLANK_LINE = re.compile(r"\n\s*\n")
_DIAGRAM = re.compile(
    r"\s*(?:flowchart|graph\s+(?:TD|TB|LR|RL|BT)|sequenceDiagram|classDiagram|stateDiagram|erDiagram|gantt|mindmap)\b"
)


@dataclass(frozen=True)
class ChunkLayout:
    """The units of a chunk by number; units without a blank line between them are a block."""

    chunk: Chunk

    @cached_property
    def units(self) -> tuple[QuotableUnit, ...]:
        """The units of the index; a text that has none is one sentence."""
        return self.chunk.units or (QuotableUnit("sentence", 0, len(self.chunk.text)),)

    def __len__(self) -> int:
        return len(self.units)

    def words(self, at: int) -> str:
        return self.chunk.text[self.units[at].start : self.units[at].end]

    def kind(self, at: int) -> str:
        """Returns the kind of a unit, or an empty text if there is no such unit."""
        return self.units[at].kind if 0 <= at < len(self) else ""

    def touched(self, start: int, end: int) -> list[int]:
        """Returns the units that contain any of the characters `start` to `end`."""
        return [at for at, unit in enumerate(self.units) if unit.start < end and unit.end > start]

    def follows(self, at: int) -> bool:
        """Returns whether a unit is in the same block as the unit before it."""
        if not 0 < at < len(self):
            return False
        return not _BLANK_LINE.search(self.chunk.text, self.units[at - 1].end, self.units[at].start)

    def block(self, at: int) -> range:
        first, last = at, at
        while self.follows(first):
            first -= 1
        while self.follows(last + 1):
            last += 1
        return range(first, last + 1)

    def listed(self, at: int) -> range:
        """Returns the whole list of a unit without its introduction, or an empty range."""
        first = next((other for other in self.block(at) if self.kind(other) == "item"), at + 1)
        return range(first, self.block(at).stop) if first <= at else range(0)

    def item(self, at: int) -> range:
        """Returns the units from the head of a list item to this unit."""
        heads = [other for other in self.listed(at) if other <= at and self.kind(other) == "item"]
        return range(heads[-1] if heads else at, at + 1)

    def whole_item(self, at: int) -> range:
        """Returns all units of the list item that contains a unit, or the unit alone."""
        heads = [other for other in self.listed(at) if self.kind(other) == "item"]
        after = next((head for head in heads if head > at), self.listed(at).stop if heads else at + 1)
        return range(self.item(at).start, after)

    def table(self, at: int) -> range:
        """Returns the consecutive rows around a row."""
        first, last = at, at
        while self._continues_table(first):
            first -= 1
        while self._continues_table(last + 1):
            last += 1
        return range(first, last + 1)

    def names_columns(self, at: int) -> bool:
        """Returns whether a row names the columns of a table; at the start of a chunk it may be an ordinary row."""
        if self._continues_table(at) or not self._continues_table(at + 1):
            return False
        cells, below = map(self.chunk.split_row, self.units[at : at + 2])
        has_corner = not cells[0] and bool(below[0])  # the column of row names has no name
        if at > 0 or has_corner:
            return True
        return not any(len(cell) > MAX_COLUMN_NAME_CHARACTERS or re.search(r"^\W*\d|\.$", cell) for cell in cells)

    def _continues_table(self, at: int) -> bool:
        return self.kind(at) == self.kind(at - 1) == "row" and self.follows(at)

    def is_label(self, at: int) -> bool:
        """Returns whether a unit heads what follows and says nothing itself: a heading, the title of a note."""
        if self.kind(at) == "heading":
            return True
        words = self.words(at)
        is_alone = self.kind(at) == "sentence" and len(self.block(at)) == 1 and self.kind(at + 1) not in ("", "formula")
        is_short = len(words) <= MAX_LABEL_CHARACTERS and (words[-1].isalnum() or words[-1] == ")")
        return is_alone and is_short and not re.search(r"\s[:|–—-]\s|: ", words)

    def is_cut(self, at: int) -> bool:
        """Returns whether a unit is half a sentence, whose other half is in the chunk before or after."""
        return (at == 0 and self.chunk.cut_start) or (at == len(self) - 1 and self.chunk.cut_end)

    def is_diagram(self, at: int) -> bool:
        """Returns whether a unit is the source of a diagram, which a reader sees as a picture."""
        return self.kind(at) == "code" and bool(_DIAGRAM.match(self.words(at)))

    def is_short(self, run: range) -> bool:
        return len(run) <= MAX_WHOLE_UNITS and sum(len(self.words(at)) for at in run) <= MAX_WHOLE_CHARACTERS

    def stretches(self, chosen: Iterable[int]) -> Iterator[range]:
        """Yields what is quoted in one piece: adjacent items or rows, a label with what it heads, else one unit."""
        run: list[int] = []
        for at in sorted(chosen):
            if run and not (at == run[-1] + 1 and self._continues(at)):
                yield range(run[0], run[-1] + 1)
                run = []
            run.append(at)
        if run:
            yield range(run[0], run[-1] + 1)

    def _continues(self, at: int) -> bool:
        rows = self.kind(at) == self.kind(at - 1) == "row"
        together = self.follows(at) and (rows or at - 1 in self.listed(at))
        return together or self.is_label(at - 1)
