"""The rows of a table of reStructuredText."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from bookbound.read.galley import Galley
from bookbound.read.rst.kinds import CODE, UNSEEN, WORDS
from bookbound.read.rst.words import Words

if TYPE_CHECKING:
    from bookbound.read.docutils import Node


def set_row(row: Node, galley: Galley, words: Words) -> None:
    """Set a row cell by cell; where its lines alternate between the cells, it stands for them as a whole."""
    cells = [list(_written(entry)) for entry in row.children]
    while cells and not cells[-1]:
        cells.pop()
    before = words.places.at
    contents = [[(node, words.content(node, soon=False)) for node in cell] for cell in cells]
    if any(content is None for cell in contents for _, content in cell):
        words.places.at = before
        _set_alternating(cells, galley, words)
        return
    for i, cell in enumerate(contents):
        if i:
            galley.insert(" | ")
        for node, content in cell:
            galley.space()
            if content:
                words.pieces(node, content)


def _set_alternating(cells: list[list[Node]], galley: Galley, words: Words) -> None:
    nodes = [node for cell in cells for node in cell]
    text = " | ".join(" ".join(map(words.shown, cell)) for cell in cells)
    if asked := next(filter(words.asked, nodes), None):
        words.stand(text, asked)
        return
    first = min(node.line or 0 for node in nodes)
    last = max((node.line or 0) + node.rawsource.count("\n") for node in nodes)
    galley.stand(text, *words.places.region(first, last - first + 1))


def _written(node: Node) -> Iterator[Node]:
    """The words of a cell, block by block."""
    for child in node.children:
        if child.tagname in WORDS or child.tagname in CODE or child.tagname == "line":
            yield child
        elif child.tagname not in UNSEEN and child.tagname != "#text":
            yield from _written(child)
