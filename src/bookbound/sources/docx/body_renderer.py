"""Renders the paragraphs and tables of a DOCX chapter as visible text with its structure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import groupby
from xml.etree.ElementTree import Element

from bookbound.domain.document import BlockKind, SourceSpan
from bookbound.sources.defusedxml import local_name
from bookbound.sources.docx.paragraphs import ListLevel, Paragraph, ParagraphReader, extract_text, iterate_blocks
from bookbound.sources.page_builder import PageBuilder, RenderedPage

_MAX_DEPTH = 10
"""Tables and text boxes that are nested deeper become paragraphs."""


class BodyRenderer:
    """Renders one chapter; its visible text is its own source."""

    def __init__(self, reader: ParagraphReader) -> None:
        self._reader = reader
        self._builder = PageBuilder("")
        self._numbers: Counter[ListLevel] = Counter()
        self._depth = 0

    def render(self, blocks: Sequence[Paragraph | Element]) -> RenderedPage:
        self._render_blocks(blocks)
        rendered = self._builder.build()
        length = len(rendered.text)
        return rendered._replace(spans=(SourceSpan(0, length, 0, length),) if length else ())

    def _render_blocks(self, blocks: Sequence[Paragraph | Element]) -> None:
        """Render blocks; neighbouring code paragraphs are one block and neighbouring items one list."""
        for kind, group in groupby(blocks, key=lambda each: each.kind if isinstance(each, Paragraph) else "table"):
            members = list(group)
            paragraphs = [each for each in members if isinstance(each, Paragraph)]
            if kind == "code":
                self._append("code", "\n".join(each.text for each in paragraphs))
            elif kind == "item":
                self._render_list(paragraphs)
            elif kind == "table":
                for each in members:
                    self._render_table(each)
            for paragraph in paragraphs:
                if kind in ("heading", "title") and paragraph.text:
                    with self._builder.block("heading", paragraph.level) as block:
                        self._builder.append(paragraph.text)
                        block.anchor = paragraph.anchor
                elif kind == "paragraph":
                    self._append("paragraph", paragraph.text)
                self._render_attached(paragraph)

    def _append(self, kind: BlockKind, text: str) -> None:
        if text.strip():
            with self._builder.block(kind):
                self._builder.append(text.strip("\n"))

    def _render_attached(self, paragraph: Paragraph) -> None:
        """Render the notes and text boxes of a paragraph after it."""
        for note in paragraph.notes:
            self._append("paragraph", note)
        for box in paragraph.boxes:
            self._render_nested(box)

    def _render_nested(self, parent: Element) -> None:
        if self._depth == _MAX_DEPTH:
            self._append("paragraph", " ".join(extract_text(parent).split()))
            return
        self._depth += 1
        self._render_blocks(list(iterate_blocks(parent, self._reader)))
        self._depth -= 1

    def _render_list(self, items: Sequence[Paragraph]) -> None:
        """Render items as nested lists; an item that is deeper than the one before is inside it."""
        depths: list[int] = []
        for item in items:
            level = item.list_level
            if level is None or not item.text:
                continue
            while depths and depths[-1] > level.depth:
                depths.pop()
                self._close_item_and_list()
            if depths and depths[-1] == level.depth:
                self._builder.close_block()
            else:
                self._builder.open_block("list")
                depths.append(level.depth)
            self._builder.open_block("item", marker=self._next_marker(level))
            self._append("paragraph", item.text)
        for _ in depths:
            self._close_item_and_list()

    def _close_item_and_list(self) -> None:
        self._builder.close_block()
        self._builder.close_block()

    def _next_marker(self, level: ListLevel) -> str:
        for other in list(self._numbers):
            if other.number_id == level.number_id and other.depth > level.depth:
                del self._numbers[other]
        if level not in self._reader.sheet.numbered:
            return "- "
        self._numbers[level] += 1
        return f"{self._numbers[level]}. "

    def _render_table(self, table: Paragraph | Element) -> None:
        """Render a table row by row; a table of one cell is a frame around its content."""
        if isinstance(table, Paragraph):
            return
        rows = [_children(row, "tc") for row in _children(table, "tr")]
        cells = [cell for row in rows for cell in row]
        if len(cells) == 1:
            self._render_nested(cells[0])
            return
        with self._builder.block("table"):
            for row in rows:
                with self._builder.block("row"):
                    for i, cell in enumerate(row):
                        if i:
                            self._builder.add_cell_separator()
                        if words := " ".join(extract_text(cell).split()):
                            self._builder.append(words)


def _children(parent: Element, name: str) -> list[Element]:
    """Return the rows or cells of a table, also those in content controls, but not those of tables inside it."""
    found: list[Element] = []
    pending = list(parent)[::-1]
    while pending:
        element = pending.pop()
        if local_name(element) == name:
            found.append(element)
        elif local_name(element) in ("sdt", "sdtContent", "customXml", "ins"):
            pending += reversed(element)
    return found
