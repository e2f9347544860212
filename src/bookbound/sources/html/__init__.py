"""Renders HTML elements as visible text with its structure."""

from __future__ import annotations

import re
from collections.abc import Callable
from urllib.parse import unquote

from bookbound.domain.document import BlockKind
from bookbound.sources.html.elements import (
    ADMONITION_CLASSES,
    BLOCK_TAGS,
    HEADING_LEVELS,
    INLINE_KINDS,
    LIST_TAGS,
    HtmlElement,
    HtmlFormula,
    extract_code,
    find_formula,
    find_language,
    find_variant,
    get_anchor,
    is_data_table,
    is_header_row,
    is_permalink,
    parse_integer,
)
from bookbound.sources.html.main_content import HIDDEN_SELECTOR
from bookbound.sources.html.selectolax import HtmlDocument
from bookbound.sources.page_builder import PageBuilder, RenderedPage
from bookbound.sources.titles import MAX_TITLE_CHARS

MAX_BLOCK_DEPTH = 60
"""Blocks that are nested deeper become paragraphs."""
_WHITESPACE = re.compile(r"[ \t\n\r\f]+")


def render_html(html: str) -> RenderedPage:
    """Render the whole body of a page; its visible text is its own source."""
    body = HtmlDocument(html).select_first(("body",), HIDDEN_SELECTOR)
    return render_element(body) if body else RenderedPage("", (), ())


def render_element(element: HtmlElement) -> RenderedPage:
    """Render an element; its visible text is its own source."""
    return _HtmlRenderer().render(element)


class _HtmlRenderer:
    """Renders one page; text outside any block is a paragraph.

    A work list replaces recursion, because pages can be nested deeper than Python's stack. A leaf is a block that
    contains only words: a heading, a paragraph or a row.
    """

    def __init__(self) -> None:
        self.builder = PageBuilder("")
        self.pending: list[HtmlElement | str | Callable[[], None]] = []
        self.in_paragraph = self.in_leaf = self.in_table = False
        self.depth = self.cells = 0
        self.anchor = ""
        self.numbers: list[int | None] = []
        self.languages = [""]
        self.variant = ""

    def render(self, top: HtmlElement) -> RenderedPage:
        self._push(top, self._end_paragraph)
        while self.pending:
            node = self.pending.pop()
            if isinstance(node, str):
                self._render_words(node)
            elif isinstance(node, HtmlElement):
                self._render_element(node)
            else:
                node()
        return self.builder.build()

    def _push(self, element: HtmlElement, after: Callable[[], None] | None = None) -> None:
        """Render an element's children next, then call `after`."""
        self.pending += [after] if after else []
        self.pending += reversed(element.children)

    def _render_element(self, element: HtmlElement) -> None:
        if element.tag in ("section", "div"):
            self.anchor = element.get("id") or self.anchor
        elif element.tag in ("a", "span"):
            self.anchor = self.anchor or get_anchor(element)
        if is_permalink(element):
            return
        if formula := find_formula(element):
            self._render_formula(formula)
        elif element.tag == "img":
            # A picture whose description has no words is decoration.
            if any(map(str.isalpha, element.get("alt"))) and not self.in_leaf:
                self.builder.add_picture(element.get("src"), element.get("alt"))
        elif element.tag == "br":
            self.builder.add_gap(" " if self.in_leaf else "\n")
        elif self.in_leaf:
            self._render_in_leaf(element)
        elif element.tag in HEADING_LEVELS:
            self._render_heading(element)
        elif element.tag == "pre":
            self._render_text_block("code", extract_code(element), find_language(element) or self.languages[-1])
        elif element.tag == "tr" and self.in_table:
            self._render_leaf("row", element, variant="header" if is_header_row(element) else "")
        elif element.tag in BLOCK_TAGS:
            self._end_paragraph()
            self._render_block(element)
        else:
            self._push_inline(element)

    def _push_inline(self, element: HtmlElement) -> None:
        kind = INLINE_KINDS.get(element.tag)
        if kind:
            self.builder.open_markup(kind, element.get("href").strip() if kind == "link" else "")
        self._push(element, self.builder.close_markup if kind else None)

    def _render_block(self, element: HtmlElement) -> None:
        kind = self._choose_kind(element) if self.depth < MAX_BLOCK_DEPTH else None
        if element.tag in LIST_TAGS:
            self.numbers.append(parse_integer(element.get("start"), 1) if element.tag == "ol" else None)
        is_quote = element.tag == "blockquote" and not kind
        if is_quote:
            self.builder.open_markup("quote")
        self.variant = "term" if element.tag == "dt" else self.variant
        self.languages.append(find_language(element) or self.languages[-1])
        if kind:
            marker = self._next_marker(element) if kind == "item" else None
            self.builder.open_block(kind, marker=marker, variant=find_variant(element) if kind == "admonition" else "")
            self.depth += 1
            self.in_table = self.in_table or kind == "table"

        def close() -> None:
            self._end_paragraph()
            self.languages.pop()
            self.variant = "" if element.tag == "dt" else self.variant
            if is_quote:
                self.builder.close_markup()
            if element.tag in LIST_TAGS:
                self.numbers.pop()
            if kind:
                self.builder.close_block()
                self.depth -= 1
                self.in_table = self.in_table and element.tag != "table"

        self._push(element, close)

    def _choose_kind(self, element: HtmlElement) -> BlockKind | None:
        if element.tag in LIST_TAGS:
            return "list"
        if element.tag == "li" and self.numbers:
            return "item"
        if element.tag == "table" and is_data_table(element):
            return "table"
        is_note = element.tag == "details" or element.get("role") == "note"
        return "admonition" if is_note or ADMONITION_CLASSES.intersection(element.classes) else None

    def _next_marker(self, item: HtmlElement) -> str:
        number = self.numbers[-1]
        if number is None:
            return "- "
        number = parse_integer(item.get("value"), number)
        self.numbers[-1] = number + 1
        return f"{number}. "

    def _render_leaf(
        self, kind: BlockKind, element: HtmlElement, level: int = 0, anchor: str = "", variant: str = ""
    ) -> None:
        self._end_paragraph()
        self.builder.open_block(kind, level, variant=variant)
        self.in_leaf, self.cells = True, 0

        def close() -> None:
            self.in_leaf = False
            self.builder.close_block(anchor)

        self._push(element, close)

    def _render_in_leaf(self, element: HtmlElement) -> None:
        if element.tag in ("td", "th"):
            if self.cells:
                self.builder.add_cell_separator()
            self.cells += 1
        if element.tag in BLOCK_TAGS:
            self.builder.add_space()
            self._push(element, self.builder.add_space)
        else:
            self._push_inline(element)

    def _render_heading(self, element: HtmlElement) -> None:
        inner = list(element.elements())
        linked = next((unquote(node.get("href")[1:]) for node in inner if is_permalink(node)), "")
        anchor = element.get("id") or linked or next(filter(None, map(get_anchor, inner)), "") or self.anchor
        self.anchor = ""
        if len(element.text()) > MAX_TITLE_CHARS:
            self._render_leaf("paragraph", element)
        else:
            self._render_leaf("heading", element, HEADING_LEVELS[element.tag], anchor)

    def _render_formula(self, formula: HtmlFormula) -> None:
        if formula.is_block and not self.in_leaf:
            self._render_text_block("formula", formula.text)
        else:
            with self.builder.markup("inline_formula"):
                self._render_words(formula.text)

    def _render_text_block(self, kind: BlockKind, text: str, variant: str = "") -> None:
        self._end_paragraph()
        if text:
            self.anchor = "" if kind == "code" else self.anchor
            with self.builder.block(kind, variant=variant):
                self.builder.append(text)

    def _render_words(self, text: str) -> None:
        words = _WHITESPACE.sub(" ", text.strip())
        if text[:1].isspace() or not words:
            self.builder.add_space()
        if not words:
            return
        if not self.in_leaf and not self.in_paragraph:
            self.builder.open_block("paragraph", variant=self.variant)
            self.in_paragraph = True
        self.anchor = ""
        self.builder.append(words)
        if text[-1].isspace():
            self.builder.add_space()

    def _end_paragraph(self) -> None:
        if self.in_paragraph:
            self.builder.close_block()
            self.in_paragraph = False
