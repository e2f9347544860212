"""Tables that are written as lists or with commas become tables of Markdown."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator
from typing import Any

from bookbound.read.myst.directives import as_code
from bookbound.read.woven import Swap

_ROW = re.compile(r"[ \t]*[*+-](?:[ \t]+|\Z)(?P<cell>[*+-](?:[ \t]+|\Z))")
_MOST_CELLS = 50_000
_CELL = re.compile(r"[ \t]+[*+-](?:[ \t]+|\Z)")


def from_list(source: str, start: int, end: int) -> list[Swap]:
    """What takes the place of the marks of a list of lists; nothing where this is none."""
    swaps: list[Swap] = []
    done, at, rows, cells = start, start, 0, 0
    for line in source[start:end].splitlines(keepends=True):
        row, cell = _ROW.match(line.rstrip("\n")), _CELL.match(line.rstrip("\n"))
        if row:
            edge = _edge(cells) if rows == 1 else " |\n"
            swaps.append(Swap(done, at + row.end(), f"{edge * bool(rows)}| "))
            rows, cells = rows + 1, 1 if rows == 0 else cells
        elif cell and rows:
            swaps.append(Swap(done, at + cell.end(), " | "))
            cells += rows == 1
        elif line.strip() and not rows:
            return []
        elif line.strip():
            swaps.append(Swap(done, at + len(line) - len(line.lstrip()), " "))
        at += len(line)
        done = at - len(line) + len(line.rstrip()) if line.strip() else done
    return [*swaps, Swap(done, end, _edge(cells) if rows == 1 else " |\n")] if rows else []


def _edge(cells: int) -> str:
    """The end of a table's first row, and the line below it."""
    return f" |\n|{'---|' * cells}\n"


def from_commas(text: str, options: dict[str, Any]) -> str:
    """A table of Markdown with the cells of a text, below those of the header that the options give."""
    header = str(options.get("header") or "")
    rows = [[" ".join(cell.split()).replace("|", "\\|") for cell in row] for row in _rows(header, text)]
    width = max(map(len, rows), default=0)
    if width * len(rows) > _MOST_CELLS:
        return as_code(text)
    if not rows:
        return ""
    lines = [f"| {' | '.join(row + [''] * (width - len(row)))} |" for row in rows]
    return "\n".join([lines[0], f"|{'---|' * width}", *lines[1:]]) + "\n"


def _rows(*texts: str) -> Iterator[list[str]]:
    for text in texts:
        try:
            yield from (row for row in csv.reader(text.splitlines(), skipinitialspace=True) if row)
        except csv.Error:  # a cell too long, or a character that no table holds
            yield from ([line] for line in text.splitlines() if line.strip())
