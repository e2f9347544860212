"""Plain text and reStructuredText become visible text with its structure."""

from __future__ import annotations

import re

from bookbound.read.directive import ADMONITIONS, CODE, MATH, NAMED, Directive, directive
from bookbound.read.drawn import drawn_table
from bookbound.read.galley import Galley, Setting, Span
from bookbound.read.headings import identifier
from bookbound.read.lines import is_deeper, items, region
from bookbound.read.prose import Prose, substitutes
from bookbound.read.titles import LONGEST

_RULE = re.compile(r"([!-/:-@\[-`{-~])\1{2,}[ \t]*")
_FIELD = re.compile(r":(?P<name>[^:`\n]+):(?:[ \t]+(?P<value>.*))?")
_TARGET = re.compile(r"__(?:[ \t]|$)")
_DEEPEST = 60


def typeset(source: str, marked_up: bool) -> Setting:
    """The visible text of a page; `marked_up` says that it is reStructuredText."""
    galley = Galley(source)
    ends = [found.start() for found in re.finditer(r"\n|\Z", source)]
    lines = list(zip([0, *(end + 1 for end in ends[:-1])], ends, strict=True))
    _Compositor(galley, marked_up).set(lines)
    return galley.finish()


class _Compositor:
    """Sets the lines of one page, block by block."""

    def __init__(self, galley: Galley, marked_up: bool) -> None:
        self.galley = galley
        self.source = galley.source
        self.marked_up = marked_up
        self.prose = Prose(galley, marked_up, substitutes(galley.source) if marked_up else {})
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
        text = self.text(lines[at])
        if not text.strip():
            return at + 1
        if is_deeper(self.source, lines[at]):
            deeper, after = region(self.source, lines, at)
            self._body(deeper)
            return after
        if self.marked_up and (text.startswith(".. ") or text.rstrip() == ".." or _TARGET.match(text)):
            deeper, after = region(self.source, lines, at + 1)
            shown = directive(self.source, lines[at], deeper)
            if shown:
                self._directive(shown)
            return after
        for attempt in (self._title, self._table, self._list, self._fields):
            after = attempt(lines, at)
            if after:
                return after
        return self._text(lines, at)

    def _paragraph(self, lines: list[Span]) -> None:
        self.galley.open("paragraph")
        self.prose.set([line for line in lines if self.text(line).strip()])
        self.galley.close()

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
        self.prose.set([lines[at + over]])
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
            self._row([[cell] for cell in cells])
        self.galley.close()
        return after

    def _row(self, cells: list[list[Span]]) -> None:
        filled = [i for i, cell in enumerate(cells) if any(self.text(line).strip() for line in cell)]
        self.galley.open("row")
        for i, cell in enumerate(cells[: filled[-1] + 1] if filled else []):
            if i:
                self.galley.insert(" | ")
            self.prose.set(cell)
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

    def _fields(self, lines: list[Span], at: int) -> int:
        """A field shows its name and its words; one at the top of a page is about the page."""
        found = _FIELD.fullmatch(self.source, *lines[at]) if self.marked_up else None
        if not found:
            return 0
        deeper, after = region(self.source, lines, at + 1)
        if not self.galley.empty:
            value = [found.span("value")] if found["value"] else []
            self._paragraph([found.span("name"), *value])
            self._body(deeper)
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
            self._code(deeper)
        return end

    def _code(self, lines: list[Span]) -> None:
        self.galley.open("code")
        self.galley.lines(lines)
        self.galley.close()

    def _directive(self, shown: Directive) -> None:
        if shown.name in CODE or shown.name in MATH:
            for caption in shown.shown:
                self._paragraph([caption])
            self.galley.open("code" if shown.name in CODE else "formula")
            self.galley.lines([*(shown.argument if shown.name in MATH else ()), *shown.body])
            self.galley.close()
        elif shown.name in ADMONITIONS:
            self.galley.open("admonition")
            self._paragraph([shown.name_span] if shown.name in NAMED else shown.argument)
            self._body([*(shown.argument if shown.name in NAMED else ()), *shown.body])
            self.galley.close()
        elif shown.name == "list-table":
            self._paragraph(shown.argument)
            self._list_table(shown.body)
        elif not shown.name:
            self._body([*shown.argument, *shown.body])
        else:
            for line in (*shown.argument, *shown.shown):
                self._paragraph([line])
            self._body(shown.body)

    def _body(self, lines: list[Span]) -> None:
        self.set(lines) if self.depth < _DEEPEST else self._paragraph(lines)

    def _list_table(self, lines: list[Span]) -> None:
        """A table whose rows are items and whose cells are items within them."""
        start = next((i for i, line in enumerate(lines) if self.text(line).strip()), len(lines))
        self.galley.open("table")
        for _, row in items(self.source, lines, start)[0]:
            cells = [cell for _, cell in items(self.source, row, 0)[0]]
            self._row([[] if self.text(cell[0]).startswith(".. ") else cell for cell in cells])
        self.galley.close()
