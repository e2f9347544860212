"""Renders plain text: finds its headings, lists, ASCII tables, code and paragraphs."""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import pairwise

from bookbound.sources.page_builder import CharSpan, PageBuilder, RenderedPage
from bookbound.sources.slugs import docutils_id
from bookbound.sources.titles import MAX_TITLE_CHARS

LIST_MARKER = re.compile(r"(?:(?P<bullet>[-*+\u2022])|\(?(?:\d{1,4}|#|[A-Za-z]|[ivxIVX]{2,5})[.)])[ \t]+(?=\S)")
_UNDERLINE = re.compile(r"([!-/:-@\[-`{-~])\1{2,}[ \t]*")
_GRID_BORDER = re.compile(r"\+(?:[-=]+\+)+[ \t]*")
_COLUMN_BORDER = re.compile(r"=+(?:[ \t]+=+)+[ \t]*")
_CLOSING_BORDER = re.compile(r"=+(?:[ \t]+=+)*[ \t]*")
_ANY_BORDER = re.compile(r"[-=+| \t]*")
_MAX_TABLE_LINES = 500
_MAX_NESTING = 60


def render_plain_text(source: str) -> RenderedPage:
    builder = PageBuilder(source)
    ends = [match.start() for match in re.finditer(r"\n|\Z", source)]
    lines = list(zip([0, *(end + 1 for end in ends[:-1])], ends, strict=True))
    _PlainTextRenderer(builder).render(lines)
    return builder.build()


class _PlainTextRenderer:
    def __init__(self, builder: PageBuilder) -> None:
        self.builder = builder
        self.source = builder.source
        self.styles: list[tuple[str, bool]] = []
        self.anchors: set[str] = set()
        self.unnamed = 0
        self.depth = 0

    def render(self, lines: list[CharSpan]) -> None:
        """Render lines of one indentation and the deeper ones among them; beyond the limit they are a paragraph."""
        if self.depth == _MAX_NESTING:
            self._render_paragraph(lines)
            return
        self.depth += 1
        at = 0
        while at < len(lines):
            at = self._render_block(lines, at)
        self.depth -= 1

    def _text(self, line: CharSpan) -> str:
        return self.source[slice(*line)]

    def _render_block(self, lines: list[CharSpan], at: int) -> int:
        """Render the block that begins at line `at`, and return the line after it."""
        if not self._text(lines[at]).strip():
            return at + 1
        deeper, after = self._take_indented(lines, at)
        if deeper:
            self.render(deeper)
            return after
        return (
            self._render_title(lines, at)
            or self._render_table(lines, at)
            or self._render_list(lines, at)
            or self._render_prose(lines, at)
        )

    def _is_indented_or_blank(self, line: CharSpan) -> bool:
        return line[0] >= line[1] or self.source[line[0]] in " \t"

    def _take_indented(self, lines: list[CharSpan], at: int) -> tuple[list[CharSpan], int]:
        """Return the deeper lines from `at` on without their common indentation, and the line after them."""
        deeper = _take_while(lines, at, self._is_indented_or_blank)
        texts = [text for text in map(self._text, deeper) if text.strip()]
        indent = min((len(text) - len(text.lstrip()) for text in texts), default=0)
        return [(min(start + indent, stop), stop) for start, stop in deeper], at + len(deeper)

    def _render_paragraph(self, lines: list[CharSpan]) -> None:
        with self.builder.block("paragraph"):
            for line in lines:
                self.builder.add_space()
                self.builder.copy_words(*line)

    def _render_title(self, lines: list[CharSpan], at: int) -> int:
        """Render a heading with a line below, or above and below; a heading of a new style is one level deeper."""
        over = bool(_UNDERLINE.fullmatch(self._text(lines[at])))
        texts = [self._text(line) for line in lines[at : at + 3]]
        words, rule = [*texts, "", ""][over : over + 2]
        is_short = not _UNDERLINE.fullmatch(rule) or (len(rule.strip()) < min(4, len(words.strip())))
        if is_short or not words.strip() or _UNDERLINE.fullmatch(words) or (over and texts[0][0] != rule[0]):
            return at + 1 if over else 0
        if len(words) > MAX_TITLE_CHARS:
            self._render_paragraph([lines[at + over]])
            return at + 2 + over
        style = (rule[0], over)
        if style not in self.styles:
            self.styles.append(style)
        with self.builder.block("heading", self.styles.index(style) + 1) as block:
            self.builder.copy_words(*lines[at + over])
            block.anchor = self._make_anchor(words.strip())
        return at + 2 + over

    def _make_anchor(self, title: str) -> str:
        anchor = docutils_id(title)
        while not anchor or anchor in self.anchors:
            self.unnamed += 1
            anchor = f"id{self.unnamed}"
        self.anchors.add(anchor)
        return anchor

    def _render_table(self, lines: list[CharSpan], at: int) -> int:
        border = self._text(lines[at])
        if _GRID_BORDER.fullmatch(border):
            rows = _take_while(lines, at, lambda line: self._text(line).startswith(("+", "|")))
        elif _COLUMN_BORDER.fullmatch(border):
            rows = lines[at : at + _MAX_TABLE_LINES]
            rows = rows[: _find_columns_end([self._text(line) for line in rows])]
        else:
            return 0
        with self.builder.block("table"):
            for start, end in rows:
                text = self.source[start:end]
                if _ANY_BORDER.fullmatch(text):
                    continue
                with self.builder.block("row"):
                    for i, (left, right) in enumerate(_cell_spans(border[: len(text)], text)):
                        if i:
                            self.builder.add_cell_separator()
                        self.builder.copy_words(start + left, start + right)
        return at + len(rows)

    def _render_list(self, lines: list[CharSpan], at: int) -> int:
        style = ""
        with self.builder.block("list"):
            while at < len(lines) and (marker := LIST_MARKER.match(self.source, *lines[at])):
                if style not in ("", marker["bullet"] or "counted"):
                    break
                style = marker["bullet"] or "counted"
                deeper, after = self._take_indented(lines, at + 1)
                own = (marker.start(), marker.start() + len(marker[0].rstrip()) + 1)
                with self.builder.block("item", marker=own):
                    self.render([(marker.end(), lines[at][1]), *deeper])
                at = after
        return at if style else 0

    def _render_prose(self, lines: list[CharSpan], at: int) -> int:
        """Render a paragraph, and the code that two colons at its end announce."""
        words = _take_while(lines, at, lambda line: not self._is_indented_or_blank(line))
        end = at + len(words)
        first, last = words[-1][0], words[-1][0] + len(self._text(words[-1]).rstrip())
        announces_code = self.source.endswith("::", first, last)
        if announces_code:
            is_separate = self.source[first : last - 2].endswith((" ", "\t")) or last - 2 == first
            words[-1] = (first, last - 2 if is_separate else last - 1)
        self._render_paragraph(words)
        if announces_code:
            deeper, end = self._take_indented(lines, end)
            with self.builder.block("code"):
                self.builder.copy_lines(deeper)
        return end


def _take_while(lines: list[CharSpan], at: int, test: Callable[[CharSpan], bool]) -> list[CharSpan]:
    end = at
    while end < len(lines) and test(lines[end]):
        end += 1
    return lines[at:end]


def _cell_spans(border: str, text: str) -> list[CharSpan]:
    """Find the border's columns in a line; a missing bar joins two columns."""
    if border.startswith("="):
        edges = [match.start() for match in re.finditer("=+", border)]
        return list(pairwise([*edges, len(text)]))
    edges = [match.start() for match in re.finditer(r"\+", border) if text.startswith(("|", "+"), match.start())]
    return [(left + 1, right) for left, right in pairwise([*edges, *([] if len(edges) > 1 else [len(text)])])]


def _find_columns_end(texts: list[str]) -> int:
    """Find the end of a table of columns: a border before a blank line, else the first blank line."""
    for i in range(2, len(texts)):
        closed = texts[i].startswith("=") and _CLOSING_BORDER.fullmatch(texts[i])
        if closed and (i + 1 == len(texts) or not texts[i + 1].strip()):
            return i + 1
    return next((i for i, text in enumerate(texts) if not text.strip()), len(texts))
