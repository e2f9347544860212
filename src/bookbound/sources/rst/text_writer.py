"""Writes the text and table rows of a docutils tree to the page, with their positions in the source."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from typing import TYPE_CHECKING

from bookbound.domain.document import BlockKind
from bookbound.sources.markdown.inline_renderer import ContentSegment, InlineContent
from bookbound.sources.page_builder import CharSpan, PageBuilder
from bookbound.sources.rst.inline_text import InlinePiece, NodeReferences, get_visible_text, split_inline
from bookbound.sources.rst.shared_markup import TAB_WIDTH

if TYPE_CHECKING:
    from bookbound.sources.rst.docutils import DocutilsNode, RstTree

HIDDEN_TAGS = frozenset(
    "comment target substitution_definition pending system_message raw meta label transition footnote_reference"
    " colspec decoration docinfo image".split()
)
TEXT_TAGS = frozenset("paragraph rubric caption term classifier attribution field_name title subtitle".split())
CODE_TAGS: dict[str, BlockKind] = {"literal_block": "code", "doctest_block": "code", "math_block": "formula"}
# docutils gives the last line of some nodes and the first of others.
_NEARBY_LINES = (0, -1, -2, 1, 2)
_MAX_SEARCH_DISTANCE = 4_000
_DIRECTIVE = re.compile(r"\.\.[ \t]+(?:\|[^|\n]+\|[ \t]+)?(?P<name>[A-Za-z][\w.:+-]*?)[ \t]?::(?!:)")


class SourceLocator:
    """Finds text in a source, always after the `position` where the last search ended."""

    def __init__(self, source: str) -> None:
        self._source = source
        self._starts = [0, *(found.end() for found in re.finditer("\n", source)), len(source) + 1]
        self.position = 0

    def line_span(self, number: int) -> CharSpan:
        """Return where a line begins and ends after the position; the first line is 1."""
        number = min(max(number, 1), len(self._starts) - 1)
        return max(self._starts[number - 1], self.position), max(self._starts[number] - 1, self.position)

    def find(self, lines: list[str], number: int | None, ahead: bool = True) -> list[CharSpan] | None:
        """Find consecutive lines near line `number` or, with `ahead` or without a number, soon after the position.

        A blank line is found at the end of its source line.
        """
        for step in _NEARBY_LINES if number else ():
            if found := self._match_lines(lines, (number or 0) + step):
                return found
        blank = next((i for i, line in enumerate(lines) if line.strip()), 0)
        first = lines[blank].strip() if ahead or not number else ""
        at = self._source.find(first, self.position, self.position + _MAX_SEARCH_DISTANCE) if first else -1
        return self._match_lines(lines, bisect_right(self._starts, at) - blank) if at >= 0 else None

    def take_lines(self, number: int | None, count: int) -> CharSpan:
        """Return the rest of `count` lines after the position, and move the position to their end."""
        if not number:
            return self.position, self.position
        start, self.position = self.line_span(number)[0], self.line_span(number + count - 1)[1]
        return start, self.position

    def find_directive_name(self, number: int | None) -> CharSpan | None:
        found = _DIRECTIVE.search(self._source, *self.line_span(number)) if number else None
        if not found:
            return None
        self.position = found.end("name")
        return found.span("name")

    def _match_lines(self, lines: list[str], number: int) -> list[CharSpan] | None:
        if not 1 <= number <= len(self._starts) - len(lines):
            return None
        spans, position = [], self.position
        for i, line in enumerate(lines, number):
            start, end = max(self._starts[i - 1], position), self._starts[i] - 1
            span = self._find_in_line(line.strip(), start, end) if line.strip() else (end, end)
            if span is None:
                return None
            spans.append(span)
            position = max(position, span[1])
        self.position = position
        return spans

    def _find_in_line(self, text: str, start: int, end: int) -> CharSpan | None:
        if start >= end:
            return None
        directive = _DIRECTIVE.search(self._source, start, end)
        found = self._source.find(text, directive.end(), end) if directive else -1
        found = found if found >= 0 else self._source.find(text, start, end)
        if found >= 0:
            return found, found + len(text)
        line = self._source[start:end].strip()
        if "\t" in line and text in self._source[start:end].expandtabs(TAB_WIDTH):
            found = self._source.find(line, start, end)
            return found, found + len(line)
        return None


class TextWriter:
    """Writes the text of nodes; text from an included file gets the position of the line that includes it."""

    def __init__(self, builder: PageBuilder, tree: RstTree, references: NodeReferences) -> None:
        self.locator = SourceLocator(builder.source)
        self._builder = builder
        self._origins = tree.context.origins
        self._references = references
        self._last_include: tuple[int, CharSpan] = (0, (0, 0))

    def include_line(self, node: DocutilsNode) -> int:
        """Return the line that includes the file of a node, or 0 for a node of the page itself."""
        return self._origins.get(node.source or "", 0) or (node.line or 0) * bool(node.get("from_file"))

    def visible_line(self, node: DocutilsNode) -> str:
        return " ".join(get_visible_text(node, self._references).split())

    def write(self, node: DocutilsNode, keep_lines: bool = False, before: str = "") -> None:
        """Write what a node shows after the text `before`."""
        from_name = (node.get("is_directive_name") or node.get("generated")) and not self.include_line(node)
        if from_name and (span := self.locator.find_directive_name(node.line)):
            if node.get("is_directive_name"):
                self._builder.copy(*span)
            else:
                self._builder.substitute(node.astext(), *span)
        elif content := self.find_content(node):
            self.write_content(node, content, keep_lines, before)
        else:
            text = get_visible_text(node, self._references) if keep_lines else self.visible_line(node)
            self.substitute(before + text, node)

    def find_content(self, node: DocutilsNode, ahead: bool = True) -> InlineContent | None:
        """Find the markup of a node in the source; return None if it is not there as docutils saw it."""
        lines = node.rawsource.split("\n")
        is_own = node.rawsource.strip() and not self.include_line(node)
        spans = self.locator.find(lines, node.line, ahead) if is_own else None
        if spans is None:
            return None
        segments, at = [], 0
        for line, (start, end) in zip(lines, spans, strict=True):
            if end - start != len(line.strip()):
                return None
            segments.append(ContentSegment(at + len(line) - len(line.lstrip()), start, end - start))
            at += len(line) + 1
        return InlineContent(node.rawsource, [segment for segment in segments if segment.length])

    def write_content(
        self, node: DocutilsNode, content: InlineContent, keep_lines: bool = False, before: str = ""
    ) -> None:
        first = [InlinePiece(before, 0, 0)] if before else []
        for piece in (*first, *split_inline(node, self._references)):
            if piece.text[0].isspace():
                self._builder.add_space()
            if piece.markup:
                self._builder.open_markup(*piece.markup)
            if content.text[piece.start : piece.end] == piece.text:
                self._copy(content, piece.start, piece.end, keep_lines)
            elif piece.text.strip():
                self._builder.substitute(" ".join(piece.text.split()), *self._find_span(piece, content))
            if piece.markup:
                self._builder.close_markup()
            if piece.text[-1].isspace():
                self._builder.add_space()

    def _find_span(self, piece: InlinePiece, content: InlineContent) -> CharSpan:
        is_empty = piece.start == piece.end
        nearest = max(0, min(piece.start, len(content.text) - 1) - is_empty)
        spans = list(content.spans(nearest, max(piece.end, nearest + 1)))
        if not spans:
            return self.locator.position, self.locator.position
        start, end = spans[0][0], spans[-1][1]
        if is_empty:
            return (end, end) if piece.start else (start, start)
        return start, end

    def substitute(self, text: str, node: DocutilsNode) -> None:
        """Write text that the source does not contain, at the position of its node or of the include."""
        line = self.include_line(node)
        if line and line != self._last_include[0]:
            self._last_include = line, self.locator.take_lines(line, 1)
        count = node.rawsource.count("\n") + 1
        self._builder.substitute(text, *(self._last_include[1] if line else self.locator.take_lines(node.line, count)))

    def _copy(self, content: InlineContent, start: int, end: int, keep_lines: bool) -> None:
        for i, line in enumerate(content.lines(start, end)):
            if i:
                self._builder.add_gap("\n") if keep_lines else self._builder.add_space()
            for span in line:
                self._builder.copy_words(*span)

    def write_row(self, row: DocutilsNode) -> None:
        """Write a table row cell by cell; a row whose source lines alternate between its cells is one substitution."""
        cells = [list(_find_text_nodes(entry)) for entry in row.children]
        while cells and not cells[-1]:
            cells.pop()
        start = self.locator.position
        contents = [[(node, self.find_content(node, ahead=False)) for node in cell] for cell in cells]
        if any(content is None for cell in contents for _, content in cell):
            self.locator.position = start
            self._write_interleaved_row(cells)
            return
        for i, cell in enumerate(contents):
            if i:
                self._builder.add_cell_separator()
            for node, content in cell:
                self._builder.add_space()
                if content:
                    self.write_content(node, content)

    def _write_interleaved_row(self, cells: list[list[DocutilsNode]]) -> None:
        nodes = [node for cell in cells for node in cell]
        text = " | ".join(" ".join(map(self.visible_line, cell)) for cell in cells)
        if included := next(filter(self.include_line, nodes), None):
            self.substitute(text, included)
            return
        first = min(node.line or 0 for node in nodes)
        last = max((node.line or 0) + node.rawsource.count("\n") for node in nodes)
        self._builder.substitute(text, *self.locator.take_lines(first, last - first + 1))


def _find_text_nodes(node: DocutilsNode) -> Iterator[DocutilsNode]:
    for child in node.children:
        if child.tagname in TEXT_TAGS or child.tagname in CODE_TAGS or child.tagname == "line":
            yield child
        elif child.tagname not in HIDDEN_TAGS and child.tagname != "#text":
            yield from _find_text_nodes(child)
