"""Formulas of a page of HTML, each once and as TeX where the page holds it."""

from __future__ import annotations

import re
from typing import NamedTuple

from bookbound.read.html.tree import Element

_DELIMITED = re.compile(
    r"\s*+(?P<number>\([\w.-]{1,20}\))?\s*+(?:\\\[(?P<block>.*)\\\]|\\\((?P<inline>.*)\\\)|\$\$(?P<dollars>.*)\$\$)\s*+",
    re.DOTALL,
)
_MARKED = frozenset(("math", "arithmatex"))


class Formula(NamedTuple):
    """A formula's source, and whether it stands in a line of its own."""

    text: str
    stands_alone: bool


def formula(element: Element) -> Formula | None:
    """The formula that an element shows, if it shows one."""
    if element.tag == "math":
        return Formula(_source(element), element.get("display") == "block")
    if element.tag == "script":
        return Formula(_words(element), "mode=display" in element.get("type"))
    if not _MARKED.intersection(element.classes):
        return None
    if element.tag == "img":
        return Formula(element.get("alt"), False)
    if any(isinstance(node, Element) and "eqno" not in node.classes for node in element.children):
        return None
    return _delimited(_words(element), element.tag)


def _source(math: Element) -> str:
    """The TeX that MathML was made from; else its own words."""
    for node in math.inside():
        if isinstance(node, Element) and node.tag == "annotation" and "tex" in node.get("encoding").lower():
            return _words(node)
    return math.get("alttext") or math.words()


def _delimited(text: str, tag: str) -> Formula:
    found = _DELIMITED.fullmatch(text)
    if not found:
        return Formula(text.strip(), tag in ("div", "p"))
    inner = found["block"] or found["inline"] or found["dollars"] or ""
    number = f" {found['number']}" if found["number"] else ""
    return Formula(inner.strip() + number, found["inline"] is None)


def _words(element: Element) -> str:
    return "".join(node for node in element.inside() if isinstance(node, str)).strip()
