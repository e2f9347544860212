"""Renders inline Markdown and finds each word's position in the source."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import NamedTuple

from bookbound.domain.document import InlineKind
from bookbound.sources.markdown.markdown_it import Token
from bookbound.sources.page_builder import CharSpan, PageBuilder, visible_spans

_MARKUP_KINDS: dict[str, InlineKind] = {"em": "emphasis", "strong": "strong", "link": "link"}
_LINE_BREAK = re.compile(r"[ \t]*\\?\n?[ \t]*")


class ContentSegment(NamedTuple):
    """`length` characters of a content from `at` on are at `origin` of the source."""

    at: int
    origin: int
    length: int


class InlineContent:
    """The text of a block as the parser sees it, and the positions of its segments in the source."""

    def __init__(self, text: str, segments: list[ContentSegment]) -> None:
        self.text = text
        self._segments = segments
        self._ends = [segment.at + segment.length for segment in segments]

    @classmethod
    def of_lines(cls, text: str, masked: str, lines: Iterable[CharSpan]) -> InlineContent:
        """Locate the content of a block in these lines of the source."""
        segments, at, spans = [], 0, iter(lines)
        for line in text.split("\n"):
            words = line.strip()
            for start, end in spans if words else ():
                found = masked.rfind(words, start, end)
                if found >= 0:
                    segments.append(ContentSegment(at + line.index(words), found, len(words)))
                    break
            at += len(line) + 1
        return cls(text, segments)

    @classmethod
    def of_cells(cls, cells: list[str], masked: str, start: int, end: int) -> Iterator[InlineContent]:
        """Locate the content of each cell in the row at `start` to `end` of the source."""
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
        """Yield the positions of the characters `start` to `end` in the source, as far as they are there."""
        for i in range(bisect_right(self._ends, start), len(self._segments)):
            at, origin, length = self._segments[i]
            if at >= end:
                return
            yield max(start, at) - at + origin, min(end, at + length) - at + origin

    def lines(self, start: int, end: int) -> Iterator[list[CharSpan]]:
        """Yield the same positions line by line."""
        for line in self.text[start:end].split("\n"):
            yield list(self.spans(start, start + len(line)))
            start += len(line) + 1


class InlineRenderer:
    """Renders the inline tokens of a content; `masked` is the source with hidden characters replaced."""

    def __init__(self, builder: PageBuilder, masked: str, content: InlineContent) -> None:
        self._builder, self._masked, self._content = builder, masked, content

    def render(self, tokens: Iterable[Token], base: int = 0) -> None:
        """Render tokens that the parser made of the content from `base` on."""
        text, at, rest = self._content.text, base, iter(tokens)
        for token in rest:
            if token.type == "text":
                at = max(text.find(token.content, at), at)
                self._copy(at, at + len(token.content))
                at += len(token.content)
            elif token.type == "text_special":
                self._render_special(token, at)
                at += len(token.markup)
            elif token.type in ("softbreak", "hardbreak"):
                found = _LINE_BREAK.match(text, at)
                at = found.end() if found else at
                self._builder.add_gap("\n" if token.type == "hardbreak" else " ")
            elif token.type in ("code_inline", "math_inline", "math_inline_double"):
                with self._builder.markup("inline_code" if token.type == "code_inline" else "inline_formula"):
                    at = self._render_verbatim(token, at)
            elif token.type == "image":
                if not token.children:
                    self._builder.add_picture(str(token.attrs.get("src", "")), token.content)
                self.render(token.children or [], at + 2)
                at = base + token.meta["end"]
            elif token.type == "math_brackets":
                with self._builder.markup("inline_formula"):
                    self._copy(base + token.meta["start"], base + token.meta["start"] + len(token.content))
                at = base + token.meta["end"]
            elif token.type == "link_open" and token.markup == "autolink":
                closed = text.index(">", at)
                with self._builder.markup("link", str(token.attrs["href"])):
                    self._copy(at + 1, closed)
                next(rest), next(rest)
                at = closed + 1
            elif token.type == "link_close":
                self._builder.close_markup()
                at = base + token.meta["end"]
            elif token.type == "footnote_ref":
                at = text.index("]", at) + 1
            else:
                name, _, step = token.type.partition("_")
                if (kind := _MARKUP_KINDS.get(name)) and step == "open":
                    self._builder.open_markup(kind, str(token.attrs.get("href", "")))
                elif kind:
                    self._builder.close_markup()
                at += 1 if token.type == "link_open" else len(token.markup)

    def _render_special(self, token: Token, at: int) -> None:
        """Render the last character of an escape, or the character that an entity names."""
        spans = list(self._content.spans(at, at + len(token.markup)))
        if token.content == token.markup or not spans:
            self._copy(at, at + len(token.markup))
        elif token.info == "escape":
            self._builder.copy(spans[-1][1] - 1, spans[-1][1])
        else:
            self._builder.substitute(token.content, spans[0][0], spans[-1][1])

    def _render_verbatim(self, token: Token, at: int) -> int:
        """Render code or a formula as written between its markers, and return where it ends."""
        text, size = self._content.text, len(token.content)
        start = at + len(token.markup)
        end = start + size
        is_same = text[start:end].replace("\n", " ") == token.content.replace("\n", " ")
        if not is_same or not text.startswith(token.markup, end):
            start, end = start + 1, end + 1
        self._copy(start, start + size)
        return text.index(token.markup, end) + len(token.markup)

    def _copy(self, start: int, end: int) -> None:
        """Copy these characters as one line; a masked character leaves a space or nothing."""
        source, masked = self._builder.source, self._masked
        for i, line in enumerate(self._content.lines(start, end)):
            if i:
                self._builder.add_space()
            for left, right in line:
                for span in visible_spans(source, masked, left, right):
                    self._builder.copy_words(*span)
                    if span[1] < right and masked[span[1]].isspace():
                        self._builder.add_space()
