"""Tables of figures as lines: the first column to the left, the others to the right."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from bookbound.cli.screen import Line

GAP = 2


def grid(columns: Sequence[str], rows: Sequence[Sequence[str]], title: str = "") -> Iterator[Line]:
    """A heading with the names of the columns, and the rows below it, each cell under its name."""
    head = (title, *columns[1:]) if title else tuple(columns)
    widths = [max(len(row[i]) for row in (head, *rows)) for i in range(len(head))]
    first, *others = (_cell(cell, width, i) for i, (cell, width) in enumerate(zip(head, widths, strict=True)))
    yield Line.of((first, "bold"), ("".join(others), "dim"), whole=True)
    for row in rows:
        yield Line.of("".join(_cell(cell, widths[i], i) for i, cell in enumerate(row)).rstrip(), whole=True)


def _cell(text: str, width: int, column: int) -> str:
    return " " * GAP * bool(column) + (text.rjust(width) if column else text.ljust(width))
