"""Renders inline Markdown and finds each word's position in the source."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import NamedTuple

from bookbound.sources.markdown.markdown_it import Token
from bookbound.sources.page_builder import CharSpan, PageBuilder

_LINE_BREAK = re.compile(r"[ \t]*\\?\n?[ \t]*")


class ContentSegment(NamedTuple):
    """`length` characters of a content from `at` on stand at `origin` of the source."""

    at: int
    origin: int
    length: int


class InlineContent:
    """The text that a parser saw of a block, and where its stretches stand in the source."""

    def __init__(self, text: str, stretches: list[ContentSegment]) -> None:
        self.text = text
        self._stretches = stretches
        self._ends = [stretch.at + stretch.length for stretch in stretches]

    @classmethod
    def of_lines(cls, text: str, masked: str, lines: Iterable[CharSpan]) -> InlineContent:
        """The content of a block whose lines of the source begin and end at `lines`."""
        stretches, at, spans = [], 0, iter(lines)
        for line in text.split("\n"):
            words = line.strip()
            for start, end in spans if words else ():
                found = masked.rfind(words, start, end)
                if found >= 0:
                    stretches.append(ContentSegment(at + line.index(words), found, len(words)))
                    break
            at += len(line) + 1
        return cls(text, stretches)

    @classmethod
    def of_cells(cls, cells: list[str], masked: str, start: int, end: int) -> Iterator[InlineContent]:
        """The content of each cell of a table's row that stands at `start` to `end`."""
        row = masked[start:end]
        kept = [i for i, char in enumerate(row) if not (char == "\\" and row[i + 1 : i + 2] == "|")]
        plain = "".join(row[i] for i in kept)
        at = plain.find("|") + 1 if plain.lstrip(" \t>").startswith("|") else 0
        for cell in cells:
            found = plain.find(cell, at)
            at = found if found >= 0 else at
            places = [start + i for i in kept[at : at + len(cell)]]
            cuts = [0, *(i for i, (one, two) in enumerate(pairwise(places), 1) if two != one + 1), len(places)]
            yield cls(cell, [ContentSegment(i, places[i], end - i) for i, end in pairwise(cuts) if end > i])
            at = plain.find("|", at + len(cell)) + 1 or len(plain)

    def spans(self, start: int, end: int) -> Iterator[CharSpan]:
        """Where characters `start` to `end` stand in the source, as far as they do."""
        for i in range(bisect_right(self._ends, start), len(self._stretches)):
            stretch = self._stretches[i]
            if stretch.at >= end:
                return
            left, right = max(start, stretch.at), min(end, stretch.at + stretch.length)
            yield left - stretch.at + stretch.origin, right - stretch.at + stretch.origin

    def lines(self, start: int, end: int) -> Iterator[list[CharSpan]]:
        """The same, line by line."""
        for line in self.text[start:end].split("\n"):
            yield list(self.spans(start, start + len(line)))
            start += len(line) + 1


class InlineRenderer:
    """Sets the inline tokens of one content."""

    def __init__(self, galley: PageBuilder, masked: str, content: InlineContent) -> None:
        self._galley = galley
        self._masked = masked
        self._content = content

    def set(self, tokens: list[Token], base: int = 0) -> None:
        """Set tokens whose parser saw the content from `base` on."""
        text, at, rest = self._content.text, base, iter(tokens)
        for token in rest:
            if token.type == "text":
                at = max(text.find(token.content, at), at)
                self._copy(at, at + len(token.content))
                at += len(token.content)
            elif token.type == "text_special":
                self._special(token, at)
                at += len(token.markup)
            elif token.type in ("softbreak", "hardbreak"):
                found = _LINE_BREAK.match(text, at)
                at = found.end() if found else at
                self._galley.gap("\n" if token.type == "hardbreak" else " ")
            elif token.type in ("code_inline", "math_inline", "math_inline_double"):
                at = self._verbatim(token, at)
            elif token.type == "image":
                self.set(token.children or [], at + 2)
                at = base + token.meta["end"]
            elif token.type == "link_open" and token.markup == "autolink":
                closed = text.index(">", at)
                self._copy(at + 1, closed)
                next(rest), next(rest)
                at = closed + 1
            elif token.type == "link_close":
                at = base + token.meta["end"]
            elif token.type == "footnote_ref":
                at = text.index("]", at) + 1
            else:
                at += 1 if token.type == "link_open" else len(token.markup)

    def _special(self, token: Token, at: int) -> None:
        """An escape shows its last character, an entity the character it names."""
        spans = list(self._content.spans(at, at + len(token.markup)))
        if token.content == token.markup or not spans:
            self._copy(at, at + len(token.markup))
        elif token.info == "escape":
            self._galley.copy(spans[-1][1] - 1, spans[-1][1])
        else:
            self._galley.stand(token.content, spans[0][0], spans[-1][1])

    def _verbatim(self, token: Token, at: int) -> int:
        """Code and formulas as they stand between their markers; returns where they end."""
        text, size = self._content.text, len(token.content)
        start = at + len(token.markup)
        end = start + size
        if not text.startswith(token.markup, end) or _replace_newlines(text[start:end]) != _replace_newlines(
            token.content
        ):
            start, end = start + 1, end + 1
        self._copy(start, start + size)
        return text.index(token.markup, end) + len(token.markup)

    def _copy(self, start: int, end: int) -> None:
        """Set these characters, of several lines as one."""
        for i, line in enumerate(self._content.lines(start, end)):
            if i:
                self._galley.space()
            for span in line:
                self._seen(*span)

    def _seen(self, left: int, right: int) -> None:
        """Set what is seen of the source here; what was blanked leaves a space, or nothing."""
        source, masked = self._galley.source, self._masked
        if source[left:right] == masked[left:right]:
            self._galley.words(left, right)
            return
        seen = left
        for at in range(left, right):
            if source[at] != masked[at]:
                self._galley.words(seen, at)
                seen = at + 1
                if masked[at].isspace():
                    self._galley.space()
        self._galley.words(seen, right)


def _replace_newlines(text: str) -> str:
    return text.replace("\n", " ")
