"""Finds the position of rendered lines in the source of a page."""

from __future__ import annotations

import re
from bisect import bisect_right

from bookbound.sources.page_builder import CharSpan

_NEARBY_LINES = (0, -1, -2, 1, 2)
_MAX_SEARCH_DISTANCE = 4_000
_DIRECTIVE = re.compile(r"\.\.[ \t]+(?:\|[^|\n]+\|[ \t]+)?(?P<name>[A-Za-z][\w.:+-]*?)[ \t]?::(?!:)")
TAB_WIDTH = 8
"""How wide a tab is to docutils."""


class SourceLocator:
    """Finds words in one source; whatever was found, the next stands behind it."""

    def __init__(self, source: str) -> None:
        self._source = source
        self._starts = [0, *(found.end() for found in re.finditer("\n", source)), len(source) + 1]
        self.at = 0

    def line(self, number: int) -> CharSpan:
        """Where a line begins and ends, as far as it stands behind the last place; the first line is 1."""
        number = min(max(number, 1), len(self._starts) - 1)
        return max(self._starts[number - 1], self.at), max(self._starts[number] - 1, self.at)

    def find(self, words: list[str], line: int | None, soon: bool = True) -> list[CharSpan] | None:
        """Where lines that follow each other stand; nothing where they do not.

        The first of them stands near `line` or, if need be, `soon` after the last place. A blank line stands at the
        end of its own.
        """
        for number in [line + step for step in _NEARBY_LINES] if line else []:
            if found := self._from(words, number):
                return found
        first = next((word.strip() for word in words if word.strip()), "")
        at = self._source.find(first, self.at, self.at + _MAX_SEARCH_DISTANCE) if first and (soon or not line) else -1
        blank = next((i for i, word in enumerate(words) if word.strip()), 0)
        return self._from(words, bisect_right(self._starts, at) - blank) if at >= 0 else None

    def region(self, line: int | None, count: int) -> CharSpan:
        """The characters of `count` lines, as far as they stand behind the last place, which they become."""
        start, end = (self.line(line)[0], self.line(line + count - 1)[1]) if line else (self.at, self.at)
        self.at = end
        return start, end

    def name(self, line: int | None) -> CharSpan | None:
        """Where the name of the directive stands that opens on a line."""
        found = _DIRECTIVE.search(self._source, *self.line(line)) if line else None
        if not found:
            return None
        self.at = found.end("name")
        return found.span("name")

    def _from(self, words: list[str], number: int) -> list[CharSpan] | None:
        if not 1 <= number <= len(self._starts) - len(words):
            return None
        spans, at = [], self.at
        for i, word in enumerate(words, number):
            start, end = max(self._starts[i - 1], at), self._starts[i] - 1
            span = (end, end) if not word.strip() else self._in_line(word.strip(), start, end)
            if span is None:
                return None
            spans.append(span)
            at = max(at, span[1])
        self.at = at
        return spans

    def _in_line(self, words: str, start: int, end: int) -> CharSpan | None:
        if start >= end:
            return None
        opened = _DIRECTIVE.search(self._source, start, end)
        found = self._source.find(words, opened.end(), end) if opened else -1
        found = found if found >= 0 else self._source.find(words, start, end)
        if found >= 0:
            return found, found + len(words)
        line = self._source[start:end].strip()
        if "\t" in line and words in self._source[start:end].expandtabs(TAB_WIDTH):
            found = self._source.find(line, start, end)
            return found, found + len(line)
        return None
