"""Tables that are drawn with characters."""

from __future__ import annotations

import re
from itertools import pairwise

from bookbound.read.galley import Span

_GRID = re.compile(r"\+(?:[-=]+\+)+[ \t]*")
_COLUMNS = re.compile(r"=+(?:[ \t]+=+)+[ \t]*")
_CLOSES = re.compile(r"=+(?:[ \t]+=+)*[ \t]*")
_BORDER = re.compile(r"[-=+| \t]*")
# The end of a table of columns is looked for within so many lines.
_LONGEST = 500


def drawn_table(source: str, lines: list[Span], at: int) -> tuple[list[list[Span]], int]:
    """The cells of each line of words of the table that begins at line `at`, and the line after it.

    Where no table begins there are no rows, and the line after it is `at`.
    """
    if not source.startswith(("+", "="), lines[at][0]):
        return [], at
    border = source[slice(*lines[at])]
    if _GRID.fullmatch(border):
        after = next((i for i in range(at, len(lines)) if not source.startswith(("+", "|"), *lines[i])), len(lines))
    elif _COLUMNS.fullmatch(border):
        after = at + _columns_end([source[start:end] for start, end in lines[at : at + _LONGEST]])
    else:
        return [], at
    rows = []
    for start, end in lines[at:after]:
        text = source[start:end]
        if not _BORDER.fullmatch(text):
            rows.append([(start + left, start + right) for left, right in _cells(border[: len(text)], text)])
    return rows, after


def _cells(border: str, text: str) -> list[Span]:
    """Where the border's columns stand in a line; a bar that is missing joins two of them."""
    if border.startswith("="):
        edges = [found.start() for found in re.finditer("=+", border)]
        return list(pairwise([*edges, len(text)]))
    edges = [found.start() for found in re.finditer(r"\+", border) if text.startswith(("|", "+"), found.start())]
    return [(left + 1, right) for left, right in pairwise([*edges, *([] if len(edges) > 1 else [len(text)])])]


def _columns_end(texts: list[str]) -> int:
    """A table of columns ends with a border before a blank line, else with the first blank line."""
    for i in range(2, len(texts)):
        closed = texts[i].startswith("=") and _CLOSES.fullmatch(texts[i])
        if closed and (i + 1 == len(texts) or not texts[i + 1].strip()):
            return i + 1
    return next((i for i, text in enumerate(texts) if not text.strip()), len(texts))
