"""Words that a line's end parts, put together again."""

from __future__ import annotations

import re
from collections.abc import Iterable

from bookbound.read.pdf.lines import Line

SOFT = "\u00ad"
_WORD = re.compile(r"[^\W\d_]+(?:[-\u2010][^\W\d_]+)*")
_LAST = re.compile(r"(\w+)[-\u2010]$")
_FIRST = re.compile(r"\w+")


class Hyphens:
    """Knows the words of a book, and so which hyphens at the end of a line belong to a word.

    Where the book does not tell, the other line ends do: some books part no word.
    """

    def __init__(self, lines: Iterable[Line]) -> None:
        self._known: set[str] = set()
        parted: list[tuple[str, str]] = []
        before = ""
        for line in lines:
            text = line.text.casefold()
            words = [found[0].replace("\u2010", "-") for found in _WORD.finditer(text)]
            if before and words:
                parted.append((before, words[0]))
            last = _LAST.search(text)
            self._known.update(words[bool(before) : len(words) - bool(last)])
            before = last[1] if last else ""
        told = [self._told(*pair) for pair in parted]
        self._parts_words = told.count(True) >= told.count(False)

    def part(self, line: str, following: str) -> int:
        """How many characters at the end of a line only say that its last word goes on; -1 where it does not."""
        if line.endswith(SOFT):
            return 1
        last, first = _LAST.search(line), _FIRST.match(following)
        if not last:
            return -1
        if not first or not first[0].islower():
            return 0
        told = self._told(last[1].casefold(), first[0].casefold())
        return int(self._parts_words if told is None else told)

    def _told(self, before: str, after: str) -> bool | None:
        """Whether two halves are one word elsewhere in the book, or are two; nothing where it says neither."""
        if before + after in self._known:
            return True
        return False if f"{before}-{after}" in self._known or {before, after} <= self._known else None
