"""Renders HTML elements as visible text with its structure."""

from __future__ import annotations

import re
from collections.abc import Callable
from urllib.parse import unquote

from bookbound.domain.document import BlockKind, SourceSpan
from bookbound.sources.html.elements import (
    ADMONITION_CLASSES,
    BLOCK_TAGS,
    HEADING_LEVELS,
    LIST_TAGS,
    HtmlElement,
    HtmlFormula,
    extract_code,
    find_formula,
    get_anchor,
    is_data_table,
    is_permalink,
    parse_integer,
)
from bookbound.sources.html.main_content import HIDDEN_SELECTOR
from bookbound.sources.html.selectolax import HtmlDocument
from bookbound.sources.page_builder import PageBuilder, RenderedPage
from bookbound.sources.titles import MAX_TITLE_CHARS

MAX_BLOCK_DEPTH = 60
"""How deep blocks may stand within each other; what stands deeper is set as paragraphs."""
_WHITESPACE = re.compile(r"[ \t\n\r\f]+")


def render_html(html: str) -> RenderedPage:
    """The visible text of the whole body of a page; it is its own source."""
    body = HtmlDocument(html).first(("body",), HIDDEN_SELECTOR)
    return render_element(body) if body else RenderedPage("", (), ())


def render_element(element: HtmlElement) -> RenderedPage:
    """The visible text inside an element; it is its own source."""
    text, _, blocks = _HtmlRenderer().set(element)
    return RenderedPage(text, (SourceSpan(0, len(text), 0, len(text)),) if text else (), blocks)


class _HtmlRenderer:
    """Sets one page, element by element; words that stand in no block of their own are a paragraph."""

    def __init__(self) -> None:
        self.galley = PageBuilder("")
        self.waiting: list[HtmlElement | str | Callable[[], None]] = []
        self.flowing = self.leaf = self.in_table = False
        self.depth = self.bars = 0
        self.anchor = ""
        self.numbers: list[int | None] = []

    def set(self, top: HtmlElement) -> RenderedPage:
        self._inside(top, self._part)
        while self.waiting:
            node = self.waiting.pop()
            if isinstance(node, str):
                self._words(node)
            elif isinstance(node, HtmlElement):
                self._element(node)
            else:
                node()
        return self.galley.finish()

    def _inside(self, element: HtmlElement, after: Callable[[], None] | None = None) -> None:
        self.waiting += [after] if after else []
        self.waiting += reversed(element.children)

    def _element(self, element: HtmlElement) -> None:
        if element.tag in ("section", "div"):
            self.anchor = element.get("id") or self.anchor
        elif element.tag in ("a", "span"):
            self.anchor = self.anchor or get_anchor(element)
        if is_permalink(element):
            return
        if found := find_formula(element):
            self._formula(found)
        elif element.tag == "br":
            self.galley.gap(" " if self.leaf else "\n")
        elif self.leaf:
            self._in_leaf(element)
        elif element.tag in HEADING_LEVELS:
            self._heading(element)
        elif element.tag == "pre":
            self._code(element)
        elif element.tag == "tr" and self.in_table:
            self._leaf("row", element)
        elif element.tag in BLOCK_TAGS:
            self._part()
            self._block(element)
        else:
            self._inside(element)

    def _block(self, element: HtmlElement) -> None:
        """Begin the block that an element is, or just what is inside it."""
        kind = self._kind(element) if self.depth < MAX_BLOCK_DEPTH else None
        if element.tag in LIST_TAGS:
            self.numbers.append(parse_integer(element.get("start"), 1) if element.tag == "ol" else None)
        if kind is None:
            self._inside(element, lambda: self._close(element, opened=False))
            return
        self.galley.open(kind, marker=self._marker(element) if kind == "item" else None)
        self.depth += 1
        self.in_table = self.in_table or kind == "table"
        self._inside(element, lambda: self._close(element, opened=True))

    def _close(self, element: HtmlElement, opened: bool) -> None:
        self._part()
        if element.tag in LIST_TAGS:
            self.numbers.pop()
        if opened:
            self.galley.close()
            self.depth -= 1
            self.in_table = self.in_table and element.tag != "table"

    def _kind(self, element: HtmlElement) -> BlockKind | None:
        if element.tag in LIST_TAGS:
            return "list"
        if element.tag == "li" and self.numbers:
            return "item"
        if element.tag == "table" and is_data_table(element):
            return "table"
        noted = (
            element.tag == "details"
            or element.get("role") == "note"
            or ADMONITION_CLASSES.intersection(element.classes)
        )
        return "admonition" if noted else None

    def _marker(self, item: HtmlElement) -> str:
        number = self.numbers[-1]
        if number is None:
            return "- "
        number = parse_integer(item.get("value"), number)
        self.numbers[-1] = number + 1
        return f"{number}. "

    def _leaf(self, kind: BlockKind, element: HtmlElement, level: int = 0, anchor: str = "") -> None:
        """Begin a block that holds words alone."""
        self._part()
        self.galley.open(kind, level)
        self.leaf, self.bars = True, -1

        def close() -> None:
            self.leaf = False
            self.galley.close(anchor)

        self._inside(element, close)

    def _in_leaf(self, element: HtmlElement) -> None:
        if element.tag in ("td", "th"):
            self.bars += 1
        if element.tag in BLOCK_TAGS:
            self.galley.space()
            self._inside(element, self.galley.space)
        else:
            self._inside(element)

    def _heading(self, element: HtmlElement) -> None:
        inner = [node for node in element.inside() if isinstance(node, HtmlElement)]
        linked = next((unquote(node.get("href")[1:]) for node in inner if is_permalink(node)), "")
        anchor = element.get("id") or linked or next(filter(None, map(get_anchor, inner)), "") or self.anchor
        self.anchor = ""
        if len(element.words()) > MAX_TITLE_CHARS:
            self._leaf("paragraph", element)
        else:
            self._leaf("heading", element, HEADING_LEVELS[element.tag], anchor)

    def _code(self, element: HtmlElement) -> None:
        self._part()
        if text := extract_code(element):
            self.anchor = ""
            self.galley.open("code")
            self.galley.say(text)
            self.galley.close()

    def _formula(self, found: HtmlFormula) -> None:
        if not found.stands_alone or self.leaf:
            self._words(found.text)
            return
        self._part()
        if found.text:
            self.galley.open("formula")
            self.galley.say(found.text)
            self.galley.close()

    def _words(self, text: str) -> None:
        words = _WHITESPACE.sub(" ", text.strip())
        if not words:
            self.galley.space()
            return
        if not self.leaf and not self.flowing:
            self.galley.open("paragraph")
            self.flowing = True
        if text[0].isspace():
            self.galley.space()
        if self.bars > 0:
            self.galley.insert(" | " * self.bars)
            self.bars = 0
        self.anchor = ""
        self.galley.say(words)
        if text[-1].isspace():
            self.galley.space()

    def _part(self) -> None:
        """End the paragraph of words that stand in no block of their own."""
        if self.flowing:
            self.galley.close()
            self.flowing = False
