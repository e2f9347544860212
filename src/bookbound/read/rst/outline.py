"""The outline of a page of reStructuredText."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from bookbound.read.sphinx.outline import Counted, Mark, Outline

if TYPE_CHECKING:
    from bookbound.read.docutils import Node, Tree

_NAMES = frozenset(("title", "caption"))


def outline(tree: Tree) -> Outline:
    """What of a page can be numbered: sections and formulas with ids, and what has a caption."""
    return tuple(_marks(tree.root, 0))


def _marks(node: Node, level: int) -> Iterator[Mark]:
    for child in node.children:
        kind = _kind(child)
        below = level + (kind == "section")
        if kind == "toctree":
            yield Mark(kind, level, (str(child["toctree"]),))
        elif kind and child["ids"]:
            named = next((one for one in child.children if one.tagname in _NAMES), None)
            title = " ".join(named.astext().split()) if named else ""
            if title or kind == "displaymath":
                yield Mark(kind, below, tuple(child["ids"]), title)
        if child.tagname != "#text":
            yield from _marks(child, below)


def _kind(node: Node) -> Counted | None:
    match node.tagname:
        case "section":
            return "section"
        case "figure":
            return "figure"
        case "table":
            return "table"
        case "math_block":
            return "displaymath"
        case "container" if node.get("literal_block"):
            return "code-block"
        case "container" if "toctree" in node:
            return "toctree"
    return None
