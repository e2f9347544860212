"""Describes how the sentences, lists and tables of a chunk belong together."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property

from bookbound.domain.chunk import Chunk, QuotableUnit
from bookbound.text.sentences import split_sentences

MAX_LABEL_CHARACTERS, MAX_COLUMN_NAME_CHARACTERS = 60, 40
"""The most characters of a line that heads what follows without being a sentence, and of a column's name."""
_BLANK_LINE = re.compile(r"\n\s*\n")


@dataclass(frozen=True)
class ChunkLayout:
    """The units of a chunk, told by their numbers; units with no blank line between them are a block."""

    chunk: Chunk

    @cached_property
    def units(self) -> tuple[QuotableUnit, ...]:
        return self.chunk.units or tuple(split_sentences(self.chunk.text))

    def __len__(self) -> int:
        return len(self.units)

    def words(self, at: int) -> str:
        return self.chunk.text[self.units[at].start : self.units[at].end]

    def kind(self, at: int) -> str:
        """The kind of a unit, or nothing where there is none."""
        return self.units[at].kind if 0 <= at < len(self) else ""

    def touched(self, start: int, end: int) -> list[int]:
        """The units that hold any of the characters `start` to `end`."""
        return [at for at, unit in enumerate(self.units) if unit.start < end and unit.end > start]

    def follows(self, at: int) -> bool:
        """Whether a unit stands in one block with the unit before it."""
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
        """The whole list that a unit stands in, without what leads to it; empty where it stands in none."""
        first = next((other for other in self.block(at) if self.kind(other) == "item"), at + 1)
        return range(first, self.block(at).stop) if first <= at else range(0)

    def item(self, at: int) -> range:
        """From the head of a list's item to this unit of it."""
        heads = [other for other in self.listed(at) if other <= at and self.kind(other) == "item"]
        return range(heads[-1] if heads else at, at + 1)

    def table(self, at: int) -> range:
        """The rows, one after the other, that a row stands among."""
        first, last = at, at
        while self.kind(first - 1) == "row" and self.follows(first):
            first -= 1
        while self.kind(last + 1) == "row" and self.follows(last + 1):
            last += 1
        return range(first, last + 1)

    def names_columns(self, at: int) -> bool:
        """Whether a row heads its table; at the start of a chunk it may as well be one of those cut off above."""
        if at != self.table(at).start or len(self.table(at)) == 1:
            return False
        cells = [cell.strip() for cell in self.words(at).split("|")]
        return at > 0 or not any(len(cell) > MAX_COLUMN_NAME_CHARACTERS or re.search(r"\d|\.$", cell) for cell in cells)

    def is_label(self, at: int) -> bool:
        """Whether a unit heads what follows it and says nothing by itself: a heading, the title of a note."""
        if self.kind(at) == "heading":
            return True
        words = self.words(at)
        alone = self.kind(at) == "sentence" and len(self.block(at)) == 1 and self.kind(at + 1) not in ("", "formula")
        return (
            alone
            and len(words) <= MAX_LABEL_CHARACTERS
            and words[-1].isalnum()
            and not re.search(r"\s[:|–—-]\s|: ", words)
        )

    def stretches(self, chosen: Iterable[int]) -> Iterator[range]:
        """What is quoted in one piece: the items of a list and the rows of a table that stand together, a label with
        what it heads, and every other unit by itself."""
        run: list[int] = []
        for at in sorted(chosen):
            if run and not (at == run[-1] + 1 and self._goes_on(at)):
                yield range(run[0], run[-1] + 1)
                run = []
            run.append(at)
        if run:
            yield range(run[0], run[-1] + 1)

    def _goes_on(self, at: int) -> bool:
        rows = self.kind(at) == self.kind(at - 1) == "row"
        together = self.follows(at) and (rows or at - 1 in self.listed(at))
        return together or self.is_label(at - 1)
