"""The parser of HTML, in one place."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from bookbound.read.html.tree import Element, too_much

if TYPE_CHECKING:
    from selectolax.lexbor import LexborNode

SOME = 20
"""The most elements that are looked at where one is looked for; each may hold all the others."""


class Document:
    """A page of HTML as browsers understand it; one that is built to choke a parser is an empty page."""

    def __init__(self, html: str) -> None:
        from selectolax.lexbor import LexborHTMLParser

        self.refused = too_much(html)
        self._parsed = LexborHTMLParser("" if self.refused else html.encode("utf-8", "replace").decode())

    def some(self, selector: str, without: str = "") -> list[Element]:
        """The first elements that a CSS selector finds, each with all that is inside but for what `without` finds."""
        unseen = self._found(without) if without else set()
        return [_element(node, unseen) for node in self._parsed.css(selector)[:SOME]]

    def first(self, selectors: Sequence[str], without: str = "") -> Element | None:
        """The first element that the first of the selectors finds, if any does."""
        for selector in selectors:
            if (node := self._parsed.css_first(selector)) is not None:
                return _element(node, self._found(without) if without else set())
        return None

    def given(self, selector: str, attribute: str) -> list[str]:
        """What an attribute says in each of the elements that a selector finds."""
        return [node.attributes.get(attribute) or "" for node in self._parsed.css(selector)]

    def _found(self, selector: str) -> set[int]:
        return {node.mem_id for node in self._parsed.css(selector)}


def _element(top: LexborNode, unseen: set[int]) -> Element:
    """A node and what is seen inside it, taken out of the parser's hands."""
    made = Element(top.tag or "", top.attributes)
    waiting = [(top, made)]
    while waiting:
        node, element = waiting.pop()
        child = node.first_child
        while child is not None:
            if child.is_text_node:
                element.children.append(child.text_content or "")
            elif child.is_element_node and child.mem_id not in unseen:
                inner = Element(child.tag or "", child.attributes)
                element.children.append(inner)
                waiting.append((child, inner))
            child = child.next
    return made
