"""Renders plain text: finds its headings, lists, ASCII tables, code and paragraphs."""

from __future__ import annotations

import re
from itertools import pairwise

from bookbound.sources.page_builder import CharSpan, PageBuilder, RenderedPage
from bookbound.sources.slugs import docutils_id
from bookbound.sources.titles import MAX_TITLE_CHARS

_UNDERLINE = re.compile(r"([!-/:-@\[-`{-~])\1{2,}[ \t]*")
_MAX_NESTING = 60


def render_plain_text(source: str) -> RenderedPage:
    """The visible text of a page."""
    galley = PageBuilder(source)
    ends = [found.start() for found in re.finditer(r"\n|\Z", source)]
    lines = list(zip([0, *(end + 1 for end in ends[:-1])], ends, strict=True))
    _PlainTextRenderer(galley).set(lines)
    return galley.finish()


class _PlainTextRenderer:
    """Sets the lines of one page, block by block."""

    def __init__(self, galley: PageBuilder) -> None:
        self.galley = galley
        self.source = galley.source
        self.styles: list[tuple[str, bool]] = []
        self.anchors: set[str] = set()
        self.unnamed = 0
        self.depth = 0

    def set(self, lines: list[CharSpan]) -> None:
        """Set lines that stand at one indentation, and the deeper ones among them."""
        self.depth += 1
        at = 0
        while at < len(lines):
            at = self._block(lines, at)
        self.depth -= 1

    def text(self, line: CharSpan) -> str:
        return self.source[line[0] : line[1]]

    def _block(self, lines: list[CharSpan], at: int) -> int:
        """Set the block that begins at line `at`; returns where the next may begin."""
        if not self.text(lines[at]).strip():
            return at + 1
        if is_indented_or_blank(self.source, lines[at]):
            deeper, after = find_indented_block(self.source, lines, at)
            self._body(deeper)
            return after
        for attempt in (self._title, self._table, self._list):
            after = attempt(lines, at)
            if after:
                return after
        return self._text(lines, at)

    def _paragraph(self, lines: list[CharSpan]) -> None:
        self.galley.open("paragraph")
        self._words([line for line in lines if self.text(line).strip()])
        self.galley.close()

    def _words(self, lines: list[CharSpan]) -> None:
        """Set lines as one run of words."""
        for line in lines:
            self.galley.space()
            self.galley.words(*line)

    def _title(self, lines: list[CharSpan], at: int) -> int:
        """A heading is underlined, or over- and underlined; its level is that of the first with its style."""
        over = bool(_UNDERLINE.fullmatch(self.text(lines[at])))
        below = [self.text(line) for line in lines[at : at + 3]]
        words, rule = [*below, "", ""][over : over + 2]
        drawn = _UNDERLINE.fullmatch(rule)
        short = not drawn or (len(rule.strip()) < min(4, len(words.strip())))
        if short or not words.strip() or _UNDERLINE.fullmatch(words) or (over and below[0][0] != rule[0]):
            return at + 1 if over else 0
        if len(words) > MAX_TITLE_CHARS:
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
        anchor = docutils_id(title)
        while not anchor or anchor in self.anchors:
            self.unnamed += 1
            anchor = f"id{self.unnamed}"
        self.anchors.add(anchor)
        return anchor

    def _table(self, lines: list[CharSpan], at: int) -> int:
        rows, after = find_ascii_table(self.source, lines, at)
        if after == at:
            return 0
        self.galley.open("table")
        for cells in rows:
            self._row(cells)
        self.galley.close()
        return after

    def _row(self, cells: list[CharSpan]) -> None:
        filled = [i for i, cell in enumerate(cells) if self.text(cell).strip()]
        self.galley.open("row")
        for i, cell in enumerate(cells[: filled[-1] + 1] if filled else []):
            if i:
                self.galley.insert(" | ")
            self._words([cell])
        self.galley.close()

    def _list(self, lines: list[CharSpan], at: int) -> int:
        found, after = find_list_items(self.source, lines, at)
        if not found:
            return 0
        self.galley.open("list")
        for marker, body in found:
            self.galley.open("item", marker=marker)
            self._body(body)
            self.galley.close()
        self.galley.close()
        return after

    def _text(self, lines: list[CharSpan], at: int) -> int:
        """A paragraph, and the code that two colons at its end announce."""
        end = at + 1
        while end < len(lines) and not is_indented_or_blank(self.source, lines[end]):
            end += 1
        words = lines[at:end]
        first, last = words[-1][0], words[-1][0] + len(self.text(words[-1]).rstrip())
        announces = self.source.endswith("::", first, last)
        if announces:
            alone = self.source[first : last - 2].endswith((" ", "\t")) or last - 2 == first
            words[-1] = (first, last - 2 if alone else last - 1)
        self._paragraph(words)
        if announces:
            deeper, end = find_indented_block(self.source, lines, end)
            self.galley.open("code")
            self.galley.lines(deeper)
            self.galley.close()
        return end

    def _body(self, lines: list[CharSpan]) -> None:
        self.set(lines) if self.depth < _MAX_NESTING else self._paragraph(lines)


LIST_MARKER = re.compile(r"(?:(?P<bullet>[-*+\u2022])|\(?(?:\d{1,4}|#|[A-Za-z]|[ivxIVX]{2,5})[.)])[ \t]+(?=\S)")


def is_indented_or_blank(source: str, line: CharSpan) -> bool:
    """Whether a line is blank or indented."""
    return line[0] >= line[1] or source[line[0]] in " \t"


def find_indented_block(source: str, lines: list[CharSpan], at: int) -> tuple[list[CharSpan], int]:
    """The deeper lines from `at` on without the indentation they share, and where they end."""
    end = at
    while end < len(lines) and is_indented_or_blank(source, lines[end]):
        end += 1
    texts = [source[start:stop] for start, stop in lines[at:end]]
    indent = min((len(text) - len(text.lstrip()) for text in texts if text.strip()), default=0)
    return [(min(start + indent, stop), stop) for start, stop in lines[at:end]], end


def find_list_items(source: str, lines: list[CharSpan], at: int) -> tuple[list[tuple[CharSpan, list[CharSpan]]], int]:
    """The items of the list that begins at line `at`, each with its marker and its lines, and where they end."""
    found: list[tuple[CharSpan, list[CharSpan]]] = []
    style = ""
    while at < len(lines):
        marker = LIST_MARKER.match(source, *lines[at])
        if not marker or style not in ("", marker["bullet"] or "counted"):
            break
        style = marker["bullet"] or "counted"
        deeper, after = find_indented_block(source, lines, at + 1)
        own = (marker.start(), marker.start() + len(marker[0].rstrip()) + 1)
        found.append((own, [(marker.end(), lines[at][1]), *deeper]))
        at = after
    return found, at


_GRID_BORDER = re.compile(r"\+(?:[-=]+\+)+[ \t]*")
_COLUMN_BORDER = re.compile(r"=+(?:[ \t]+=+)+[ \t]*")
_CLOSING_BORDER = re.compile(r"=+(?:[ \t]+=+)*[ \t]*")
_ANY_BORDER = re.compile(r"[-=+| \t]*")
# The end of a table of columns is looked for within so many lines.
_MAX_TABLE_LINES = 500


def find_ascii_table(source: str, lines: list[CharSpan], at: int) -> tuple[list[list[CharSpan]], int]:
    """The cells of each line of words of the table that begins at line `at`, and the line after it.

    Where no table begins there are no rows, and the line after it is `at`.
    """
    if not source.startswith(("+", "="), lines[at][0]):
        return [], at
    border = source[slice(*lines[at])]
    if _GRID_BORDER.fullmatch(border):
        after = next((i for i in range(at, len(lines)) if not source.startswith(("+", "|"), *lines[i])), len(lines))
    elif _COLUMN_BORDER.fullmatch(border):
        after = at + _find_columns_end([source[start:end] for start, end in lines[at : at + _MAX_TABLE_LINES]])
    else:
        return [], at
    rows = []
    for start, end in lines[at:after]:
        text = source[start:end]
        if not _ANY_BORDER.fullmatch(text):
            rows.append([(start + left, start + right) for left, right in _cell_spans(border[: len(text)], text)])
    return rows, after


def _cell_spans(border: str, text: str) -> list[CharSpan]:
    """Where the border's columns stand in a line; a bar that is missing joins two of them."""
    if border.startswith("="):
        edges = [found.start() for found in re.finditer("=+", border)]
        return list(pairwise([*edges, len(text)]))
    edges = [found.start() for found in re.finditer(r"\+", border) if text.startswith(("|", "+"), found.start())]
    return [(left + 1, right) for left, right in pairwise([*edges, *([] if len(edges) > 1 else [len(text)])])]


def _find_columns_end(texts: list[str]) -> int:
    """A table of columns ends with a border before a blank line, else with the first blank line."""
    for i in range(2, len(texts)):
        closed = texts[i].startswith("=") and _CLOSING_BORDER.fullmatch(texts[i])
        if closed and (i + 1 == len(texts) or not texts[i + 1].strip()):
            return i + 1
    return next((i for i, text in enumerate(texts) if not text.strip()), len(texts))
