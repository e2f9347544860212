"""Writes the text and table rows of a docutils tree to the page."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from bookbound.domain.document import BlockKind
from bookbound.sources.markdown.inline_renderer import ContentSegment, InlineContent
from bookbound.sources.page_builder import CharSpan, PageBuilder
from bookbound.sources.rst.inline_text import InlinePiece, ReferenceResolver, get_visible_text, split_inline
from bookbound.sources.rst.source_locator import SourceLocator

if TYPE_CHECKING:
    from bookbound.sources.rst.docutils import DocutilsNode, RstTree


ADMONITION_TAGS = frozenset(
    "admonition note tip warning attention caution danger error hint important topic sidebar".split()
)
HIDDEN_TAGS = frozenset(
    "comment target substitution_definition pending system_message raw meta label transition footnote_reference"
    " colspec decoration docinfo image".split()
)
TEXT_TAGS = frozenset("paragraph rubric caption term classifier attribution field_name title subtitle".split())
CODE_TAGS: dict[str, BlockKind] = {"literal_block": "code", "doctest_block": "code", "math_block": "formula"}


class TextWriter:
    """Sets the words of one page's nodes; those of another file stand for the line that asks for them."""

    def __init__(self, galley: PageBuilder, tree: RstTree, says: ReferenceResolver) -> None:
        self.places = SourceLocator(galley.source)
        self._galley = galley
        self._origins = tree.extracts.origins
        self._says = says
        self._last: tuple[int, CharSpan] = (0, (0, 0))

    def asked(self, node: DocutilsNode) -> int:
        """The line that asks for a node which another file holds; 0 for one of the page's own."""
        return self._origins.get(node.source or "", 0) or (node.line or 0) * bool(node.get("taken"))

    def shown(self, node: DocutilsNode) -> str:
        """What a node shows, as one line."""
        return " ".join(get_visible_text(node, self._says).split())

    def set(self, node: DocutilsNode, broken: bool = False, before: str = "") -> None:
        """Set what a node shows after the words `before` it; `broken` says that its lines stay apart."""
        of_name = (node.get("named") or node.get("told")) and not self.asked(node)
        if of_name and (span := self.places.name(node.line)):
            self._galley.copy(*span) if node.get("named") else self._galley.stand(node.astext(), *span)
        elif content := self.content(node):
            self.pieces(node, content, broken, before)
        else:
            self.stand(before + (get_visible_text(node, self._says) if broken else self.shown(node)), node)

    def content(self, node: DocutilsNode, soon: bool = True) -> InlineContent | None:
        """What was written for a node, and where its lines stand; nothing where they are not found as written."""
        lines = node.rawsource.split("\n")
        own = node.rawsource.strip() and not self.asked(node)
        spans = self.places.find(lines, node.line, soon) if own else None
        if spans is None:
            return None
        stretches, at = [], 0
        for line, (start, end) in zip(lines, spans, strict=True):
            if end - start != len(line.strip()):
                return None
            stretches.append(ContentSegment(at + len(line) - len(line.lstrip()), start, end - start))
            at += len(line) + 1
        return InlineContent(node.rawsource, [stretch for stretch in stretches if stretch.length])

    def pieces(self, node: DocutilsNode, content: InlineContent, broken: bool = False, before: str = "") -> None:
        """Set what a node shows where its content stands."""
        first = [InlinePiece(before, 0, 0)] if before else []
        for piece in (*first, *split_inline(node, self._says)):
            verbatim = content.text[piece.start : piece.end] == piece.text
            if piece.text[0].isspace():
                self._galley.space()
            if verbatim:
                self._copy(content, piece.start, piece.end, broken)
            elif piece.text.strip():
                self._galley.stand(" ".join(piece.text.split()), *self._span(piece, content))
            if piece.text[-1].isspace():
                self._galley.space()

    def _span(self, piece: InlinePiece, content: InlineContent) -> CharSpan:
        """Where what a piece stands for is written; nothing is written for one that has no length."""
        empty = piece.start == piece.end
        nearest = max(0, min(piece.start, len(content.text) - 1) - empty)
        spans = list(content.spans(nearest, max(piece.end, nearest + 1)))
        if not spans:
            return self.places.at, self.places.at
        start, end = spans[0][0], spans[-1][1]
        if empty:
            start = end = start if not piece.start else end
        return start, end

    def stand(self, text: str, node: DocutilsNode) -> None:
        """Set words that are not written so where their node is written or asked for."""
        line = self.asked(node)
        if line and line != self._last[0]:
            self._last = line, self.places.region(line, 1)
        span = self._last[1] if line else self.places.region(node.line, node.rawsource.count("\n") + 1)
        self._galley.stand(text, *span)

    def _copy(self, content: InlineContent, start: int, end: int, broken: bool) -> None:
        for i, line in enumerate(content.lines(start, end)):
            if i:
                self._galley.gap("\n") if broken else self._galley.space()
            for span in line:
                self._galley.words(*span)


def write_row(row: DocutilsNode, galley: PageBuilder, words: TextWriter) -> None:
    """Set a row cell by cell; where its lines alternate between the cells, it stands for them as a whole."""
    cells = [list(_find_text_nodes(entry)) for entry in row.children]
    while cells and not cells[-1]:
        cells.pop()
    before = words.places.at
    contents = [[(node, words.content(node, soon=False)) for node in cell] for cell in cells]
    if any(content is None for cell in contents for _, content in cell):
        words.places.at = before
        _write_interleaved_row(cells, galley, words)
        return
    for i, cell in enumerate(contents):
        if i:
            galley.insert(" | ")
        for node, content in cell:
            galley.space()
            if content:
                words.pieces(node, content)


def _write_interleaved_row(cells: list[list[DocutilsNode]], galley: PageBuilder, words: TextWriter) -> None:
    nodes = [node for cell in cells for node in cell]
    text = " | ".join(" ".join(map(words.shown, cell)) for cell in cells)
    if asked := next(filter(words.asked, nodes), None):
        words.stand(text, asked)
        return
    first = min(node.line or 0 for node in nodes)
    last = max((node.line or 0) + node.rawsource.count("\n") for node in nodes)
    galley.stand(text, *words.places.region(first, last - first + 1))


def _find_text_nodes(node: DocutilsNode) -> Iterator[DocutilsNode]:
    """The words of a cell, block by block."""
    for child in node.children:
        if child.tagname in TEXT_TAGS or child.tagname in CODE_TAGS or child.tagname == "line":
            yield child
        elif child.tagname not in HIDDEN_TAGS and child.tagname != "#text":
            yield from _find_text_nodes(child)
