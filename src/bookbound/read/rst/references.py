"""What references and substitutions of a page of reStructuredText show."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from bookbound.read.rst.inline import shown
from bookbound.read.sphinx.draft import Titles
from bookbound.read.titles import LONGEST

if TYPE_CHECKING:
    from bookbound.read.docutils import Node, Tree

_DEEPEST = 5


class References:
    """Tells what stands in the place of one page's references."""

    def __init__(self, tree: Tree, titles: Titles, words: Mapping[str, str]) -> None:
        self._tree = tree
        self._titles = titles
        self._words = words
        self._known: dict[str, str] = {}
        self._depth = 0

    def __call__(self, node: Node) -> str | None:
        if node.tagname == "substitution_reference":
            return self._substituted(node.astext())
        if node.tagname == "citation_reference":
            return f"[{node.astext()}]"
        refers = node.get("refers")
        return self._titles(*refers) if refers else None

    def number(self, node: Node) -> str:
        """The number of what has ids, as it is shown; nothing for what has none."""
        ids = node.get("ids")
        return (self._titles("number", ids[0]) or "") if ids else ""

    def _substituted(self, name: str) -> str:
        """The words that are defined for a name; a picture has none, and an unknown name stays between its bars."""
        if name not in self._known:
            defined = self._tree.substitute(name)
            if defined is None or self._depth >= _DEEPEST:
                emoji = name.startswith(":") and name.endswith(":")
                return self._words.get(name, "" if emoji else f"|{name}|")
            self._depth += 1
            self._known[name] = "".join(shown(child, self) for child in defined.children)[:LONGEST]
            self._depth -= 1
        return self._known[name]
