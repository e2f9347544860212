"""Parses HTML with selectolax and rejects pages that are too costly to parse."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from bookbound.sources.html.elements import VOID_TAGS, HtmlElement

if TYPE_CHECKING:
    from selectolax.lexbor import LexborNode


MAX_PARSER_STEPS = 100_000_000
"""The most steps that a parser may take for one page, about a second; no author writes a page that needs more."""
MAX_REOPENED_ELEMENTS = 2_000_000
"""The most elements that a parser may open again because the author did not close them."""
_SPACE = " \\t\\n\\f\\r"
_VALUE = rf"""(?:"[^"]*+"|'[^']*+'|[^{_SPACE}>"'][^{_SPACE}>]*+)?+"""
_ATTRIBUTE = rf"[^{_SPACE}/>][^{_SPACE}/>=]*+(?:[{_SPACE}]*+=[{_SPACE}]*+{_VALUE})?+"
_TAG = re.compile(
    rf"<!--.*?(?:--!?>|\Z)|<(?P<end>/?)(?P<name>[a-zA-Z][^{_SPACE}/>]*+)(?P<rest>(?:[{_SPACE}/]++|{_ATTRIBUTE})*+)>?",
    re.DOTALL,
)
_ATTRIBUTE_PATTERN = re.compile(_ATTRIBUTE)
_RAW_TEXT_ENDS = {
    name: re.compile(rf"</{name}(?=[{_SPACE}/>])", re.IGNORECASE)
    for name in ("script", "style", "title", "textarea", "xmp", "iframe", "noembed", "noframes")
}
_IMPLICITLY_CLOSED_TAGS = frozenset("p li dt dd tr td th thead tbody tfoot colgroup rt rp".split())
_FORMATTING_TAGS = frozenset("b big code em font i nobr s small strike strong tt u".split())


def is_too_costly(html: str) -> bool:
    """Whether a page costs a parser more than its size allows, by deep nesting or many attributes."""
    opened: Counter[str] = Counter()
    depth = formatting = at = 0
    steps = reopened = 0
    while tag := _TAG.search(html, at):
        at = tag.end()
        name = (tag["name"] or "").lower()
        is_foreign = bool(opened["svg"] or opened["math"])
        nests = name not in VOID_TAGS and (is_foreign or name not in _IMPLICITLY_CLOSED_TAGS)
        step = -1 if tag["end"] else 1
        if nests and name and (step > 0 or opened[name]):
            opened[name] += step
            depth += step
            formatting += step if name in _FORMATTING_TAGS else 0
        # The parser goes through all open elements for each tag, and compares each attribute with all before it.
        steps += depth + sum(1 for _ in _ATTRIBUTE_PATTERN.finditer(tag["rest"] or "")) ** 2
        # Formatting that is never closed is opened again in each block that follows.
        reopened += formatting
        if steps > MAX_PARSER_STEPS or reopened > MAX_REOPENED_ELEMENTS:
            return True
        if step > 0 and name in _RAW_TEXT_ENDS and not is_foreign:
            closing = _RAW_TEXT_ENDS[name].search(html, at)
            at = closing.start() if closing else len(html)
    return False


MAX_MATCHES = 20
"""The most matches of one selector; each match may contain all the others."""


class HtmlDocument:
    """A page of HTML as browsers parse it; a page that is too costly to parse is empty."""

    def __init__(self, html: str) -> None:
        from selectolax.lexbor import LexborHTMLParser

        self.is_too_costly = is_too_costly(html)
        self._parsed = LexborHTMLParser("" if self.is_too_costly else html.encode("utf-8", "replace").decode())

    def select(self, selector: str, without: str = "") -> list[HtmlElement]:
        """Return the first elements that match a selector, without those inside them that match `without`."""
        removed = self._ids(without)
        return [_copy_element(node, removed) for node in self._parsed.css(selector)[:MAX_MATCHES]]

    def select_first(self, selectors: Sequence[str], without: str = "") -> HtmlElement | None:
        """Return the first match of the first selector that has one."""
        for selector in selectors:
            if (node := self._parsed.css_first(selector)) is not None:
                return _copy_element(node, self._ids(without))
        return None

    def attribute_values(self, selector: str, attribute: str) -> list[str]:
        """Return an attribute of each element that matches a selector."""
        return [node.attributes.get(attribute) or "" for node in self._parsed.css(selector)]

    def _ids(self, selector: str) -> set[int]:
        return {node.mem_id for node in self._parsed.css(selector)} if selector else set()


def _copy_element(top: LexborNode, removed: set[int]) -> HtmlElement:
    """Copy a parser's node and everything inside it that is not removed."""
    copy = HtmlElement(top.tag or "", top.attributes)
    pending = [(top, copy)]
    while pending:
        node, element = pending.pop()
        child = node.first_child
        while child is not None:
            if child.is_text_node:
                element.children.append(child.text_content or "")
            elif child.is_element_node and child.mem_id not in removed:
                inner = HtmlElement(child.tag or "", child.attributes)
                element.children.append(inner)
                pending.append((child, inner))
            child = child.next
    return copy
