"""Reads a DOCX file: its headings, paragraphs, lists, tables, code and notes, split into chapters."""

from __future__ import annotations

import posixpath
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import closing
from itertools import groupby
from pathlib import Path
from urllib.parse import quote
from xml.etree.ElementTree import Element

from bookbound.domain.document import BlockKind, Page, ParsedBook
from bookbound.domain.errors import SourceError
from bookbound.sources.defusedxml import find_elements, parse_xml
from bookbound.sources.docx.paragraphs import (
    ListLevel,
    Paragraph,
    ParagraphReader,
    StyleSheet,
    extract_text,
    find_blocks,
    index_notes,
    iterate_blocks,
)
from bookbound.sources.file_loader import MAX_PAGE_BYTES
from bookbound.sources.page_builder import PageBuilder, RenderedPage
from bookbound.sources.titles import fallback_title
from bookbound.sources.zip_archive import UnreadableMemberError, ZipArchive

_MAIN_PART_TYPE = "wordprocessingml.document.main+xml"
_DEFAULT_MAIN_PART = "word/document.xml"
_OTHER_PARTS = ("styles", "numbering", "footnotes", "endnotes")
_NOT_DOCX = "The file is not a readable DOCX: open it in a word processor and save it again."
_MAX_DEPTH = 10
"""Tables and text boxes that are nested deeper become paragraphs."""
_NO_WORDS = "The DOCX has no words. If it contains pictures of pages, run OCR first and index the result."


def read_docx(source: Path) -> ParsedBook:
    """Read the book in a DOCX file; its chapters begin at the headings of the first level."""
    with closing(ZipArchive(source)) as archive:
        types = find_elements(_load_part(archive, "[Content_Types].xml"), "Override")
        named = (each.get("PartName", "") for each in types if each.get("ContentType", "").endswith(_MAIN_PART_TYPE))
        main = next(named, _DEFAULT_MAIN_PART).lstrip("/")
        body = next(find_elements(_load_part(archive, main), "body"), None)
        if body is None:
            raise SourceError(_NOT_DOCX)
        folder = posixpath.dirname(main)
        parts = {name: _load_part(archive, posixpath.join(folder, f"{name}.xml")) for name in _OTHER_PARTS}
        properties = _load_part(archive, "docProps/core.xml")
    sheet = StyleSheet.parse(parts["styles"], parts["numbering"])
    reader = ParagraphReader(sheet, index_notes(parts["footnotes"], parts["endnotes"]))
    blocks = list(iterate_blocks(body, reader))
    titles = [each.text for each in blocks if isinstance(each, Paragraph) and each.kind == "title"]
    titles += ["".join(each.itertext()) for each in find_elements(properties, "title")]
    title = fallback_title(next(filter(str.strip, titles), ""), source)
    pages = tuple(_build_pages(source.name, title, blocks, reader))
    if not pages:
        raise SourceError(_NO_WORDS)
    return ParsedBook(title, "docx", pages, tuple(archive.notices))


def _build_pages(file: str, title: str, blocks: list[Paragraph | Element], reader: ParagraphReader) -> Iterator[Page]:
    chapters: list[tuple[str, list[Paragraph | Element]]] = [(title, [])]
    for block in blocks:
        if isinstance(block, Paragraph) and block.kind == "heading" and block.level == 1:
            chapters.append((block.text, []))
        chapters[-1][1].append(block)
    position = 0
    for number, (name, content) in enumerate(chapters):
        rendered = _BodyRenderer(reader).render(content)
        if rendered.text:
            page = f"{file}#{number}" if number else file
            yield Page(page, quote(file), name, name, position, rendered.text, *rendered)
            position += 1


def _load_part(archive: ZipArchive, name: str) -> Element | None:
    try:
        return parse_xml(archive.read(name), MAX_PAGE_BYTES)
    except UnreadableMemberError:
        return None


class _BodyRenderer:
    """Renders one chapter; its visible text is its own source."""

    def __init__(self, reader: ParagraphReader) -> None:
        self._reader = reader
        self._builder = PageBuilder("")
        self._numbers: Counter[ListLevel] = Counter()
        self._depth = 0

    def render(self, blocks: Sequence[Paragraph | Element]) -> RenderedPage:
        self._render_blocks(blocks)
        return self._builder.build()

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
                # Notes and text boxes follow their paragraph.
                for note in paragraph.notes:
                    self._append("paragraph", note)
                for box in paragraph.boxes:
                    self._render_nested(box)

    def _append(self, kind: BlockKind, text: str) -> None:
        if text.strip():
            with self._builder.block(kind):
                self._builder.append(text.strip("\n"))

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
                self._close_blocks(2)
                depths.pop()
            if depths and depths[-1] == level.depth:
                self._builder.close_block()
            else:
                self._builder.open_block("list")
                depths.append(level.depth)
            self._builder.open_block("item", marker=self._next_marker(level))
            self._append("paragraph", item.text)
        self._close_blocks(2 * len(depths))

    def _close_blocks(self, count: int) -> None:
        for _ in range(count):
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
        rows = [list(find_blocks(row, "tc")) for row in find_blocks(table, "tr")]
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
