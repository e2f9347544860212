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
"""The most steps that a parser may take over one page: about a second. No author wrote a page that takes more."""
MAX_REOPENED_ELEMENTS = 2_000_000
"""The most elements that a parser may make anew because the author did not close them."""
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
    """Whether a page is built to cost a parser more than its size allows: nested without end, or full of attributes."""
    opened: Counter[str] = Counter()
    depth = formatting = effort = anew = at = 0
    while found := _TAG.search(html, at):
        at = found.end()
        name = (found["name"] or "").lower()
        foreign = bool(opened["svg"] or opened["math"])
        nests = name not in VOID_TAGS and (foreign or name not in _IMPLICITLY_CLOSED_TAGS)
        step = -1 if found["end"] else 1
        if nests and name and (step > 0 or opened[name]):
            opened[name] += step
            depth += step
            formatting += step if name in _FORMATTING_TAGS else 0
        effort += depth + sum(1 for _ in _ATTRIBUTE_PATTERN.finditer(found["rest"] or "")) ** 2
        anew += formatting
        if effort > MAX_PARSER_STEPS or anew > MAX_REOPENED_ELEMENTS:
            return True
        if step > 0 and name in _RAW_TEXT_ENDS and not foreign:
            closing = _RAW_TEXT_ENDS[name].search(html, at)
            at = closing.start() if closing else len(html)
    return False


MAX_MATCHES = 20
"""The most elements that are looked at where one is looked for; each may hold all the others."""


class HtmlDocument:
    """A page of HTML as browsers understand it; one that is built to choke a parser is an empty page."""

    def __init__(self, html: str) -> None:
        from selectolax.lexbor import LexborHTMLParser

        self.refused = is_too_costly(html)
        self._parsed = LexborHTMLParser("" if self.refused else html.encode("utf-8", "replace").decode())

    def some(self, selector: str, without: str = "") -> list[HtmlElement]:
        """The first elements that a CSS selector finds, each with all that is inside but for what `without` finds."""
        unseen = self._found(without) if without else set()
        return [_copy_element(node, unseen) for node in self._parsed.css(selector)[:MAX_MATCHES]]

    def first(self, selectors: Sequence[str], without: str = "") -> HtmlElement | None:
        """The first element that the first of the selectors finds, if any does."""
        for selector in selectors:
            if (node := self._parsed.css_first(selector)) is not None:
                return _copy_element(node, self._found(without) if without else set())
        return None

    def given(self, selector: str, attribute: str) -> list[str]:
        """What an attribute says in each of the elements that a selector finds."""
        return [node.attributes.get(attribute) or "" for node in self._parsed.css(selector)]

    def _found(self, selector: str) -> set[int]:
        return {node.mem_id for node in self._parsed.css(selector)}


def _copy_element(top: LexborNode, unseen: set[int]) -> HtmlElement:
    """A node and what is seen inside it, taken out of the parser's hands."""
    made = HtmlElement(top.tag or "", top.attributes)
    waiting = [(top, made)]
    while waiting:
        node, element = waiting.pop()
        child = node.first_child
        while child is not None:
            if child.is_text_node:
                element.children.append(child.text_content or "")
            elif child.is_element_node and child.mem_id not in unseen:
                inner = HtmlElement(child.tag or "", child.attributes)
                element.children.append(inner)
                waiting.append((child, inner))
            child = child.next
    return made
