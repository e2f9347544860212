"""Plain text becomes visible text with its structure: every character counts as it is written."""

from __future__ import annotations

import re

from bookbound.read.drawn import drawn_table
from bookbound.read.galley import Galley, Setting, Span
from bookbound.read.headings import identifier
from bookbound.read.lines import is_deeper, items, region
from bookbound.read.titles import LONGEST

_RULE = re.compile(r"([!-/:-@\[-`{-~])\1{2,}[ \t]*")
_DEEPEST = 60


def typeset(source: str) -> Setting:
    """The visible text of a page."""
    galley = Galley(source)
    ends = [found.start() for found in re.finditer(r"\n|\Z", source)]
    lines = list(zip([0, *(end + 1 for end in ends[:-1])], ends, strict=True))
    _Compositor(galley).set(lines)
    return galley.finish()


class _Compositor:
    """Sets the lines of one page, block by block."""

    def __init__(self, galley: Galley) -> None:
        self.galley = galley
        self.source = galley.source
        self.styles: list[tuple[str, bool]] = []
        self.anchors: set[str] = set()
        self.unnamed = 0
        self.depth = 0

    def set(self, lines: list[Span]) -> None:
        """Set lines that stand at one indentation, and the deeper ones among them."""
        self.depth += 1
        at = 0
        while at < len(lines):
            at = self._block(lines, at)
        self.depth -= 1

    def text(self, line: Span) -> str:
        return self.source[line[0] : line[1]]

    def _block(self, lines: list[Span], at: int) -> int:
        """Set the block that begins at line `at`; returns where the next may begin."""
        if not self.text(lines[at]).strip():
            return at + 1
        if is_deeper(self.source, lines[at]):
            deeper, after = region(self.source, lines, at)
            self._body(deeper)
            return after
        for attempt in (self._title, self._table, self._list):
            after = attempt(lines, at)
            if after:
                return after
        return self._text(lines, at)

    def _paragraph(self, lines: list[Span]) -> None:
        self.galley.open("paragraph")
        self._words([line for line in lines if self.text(line).strip()])
        self.galley.close()

    def _words(self, lines: list[Span]) -> None:
        """Set lines as one run of words."""
        for line in lines:
            self.galley.space()
            self.galley.words(*line)

    def _title(self, lines: list[Span], at: int) -> int:
        """A heading is underlined, or over- and underlined; its level is that of the first with its style."""
        over = bool(_RULE.fullmatch(self.text(lines[at])))
        below = [self.text(line) for line in lines[at : at + 3]]
        words, rule = [*below, "", ""][over : over + 2]
        drawn = _RULE.fullmatch(rule)
        short = not drawn or (len(rule.strip()) < min(4, len(words.strip())))
        if short or not words.strip() or _RULE.fullmatch(words) or (over and below[0][0] != rule[0]):
            return at + 1 if over else 0
        if len(words) > LONGEST:
            self._paragraph([lines[at + over]])
            return at + 2 + over
        style = (rule[0], over)
        if style not in self.styles:
            self.styles.append(style)
        self.galley.open("heading", self.styles.index(style) + 1)
        self._words([lines[at + over]])
        self.galley.close(self._anchor(self.galley.current()))
        return at + 2 + over

    def _anchor(self, title: str) -> str:
        anchor = identifier(title)
        while not anchor or anchor in self.anchors:
            self.unnamed += 1
            anchor = f"id{self.unnamed}"
        self.anchors.add(anchor)
        return anchor

    def _table(self, lines: list[Span], at: int) -> int:
        rows, after = drawn_table(self.source, lines, at)
        if after == at:
            return 0
        self.galley.open("table")
        for cells in rows:
            self._row(cells)
        self.galley.close()
        return after

    def _row(self, cells: list[Span]) -> None:
        filled = [i for i, cell in enumerate(cells) if self.text(cell).strip()]
        self.galley.open("row")
        for i, cell in enumerate(cells[: filled[-1] + 1] if filled else []):
            if i:
                self.galley.insert(" | ")
            self._words([cell])
        self.galley.close()

    def _list(self, lines: list[Span], at: int) -> int:
        found, after = items(self.source, lines, at)
        if not found:
            return 0
        self.galley.open("list")
        for marker, body in found:
            self.galley.open("item", marker=marker)
            self._body(body)
            self.galley.close()
        self.galley.close()
        return after

    def _text(self, lines: list[Span], at: int) -> int:
        """A paragraph, and the code that two colons at its end announce."""
        end = at + 1
        while end < len(lines) and not is_deeper(self.source, lines[end]):
            end += 1
        words = lines[at:end]
        first, last = words[-1][0], words[-1][0] + len(self.text(words[-1]).rstrip())
        announces = self.source.endswith("::", first, last)
        if announces:
            alone = self.source[first : last - 2].endswith((" ", "\t")) or last - 2 == first
            words[-1] = (first, last - 2 if alone else last - 1)
        self._paragraph(words)
        if announces:
            deeper, end = region(self.source, lines, end)
            self.galley.open("code")
            self.galley.lines(deeper)
            self.galley.close()
        return end

    def _body(self, lines: list[Span]) -> None:
        self.set(lines) if self.depth < _DEEPEST else self._paragraph(lines)
