"""Words of reStructuredText, set from where they stand in the source."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bookbound.read.galley import Galley, Span
from bookbound.read.inline import Content, Stretch
from bookbound.read.rst.inline import Piece, Says, pieces, shown
from bookbound.read.rst.places import Places

if TYPE_CHECKING:
    from bookbound.read.docutils import Node, Tree


class Words:
    """Sets the words of one page's nodes; those of another file stand for the line that asks for them."""

    def __init__(self, galley: Galley, tree: Tree, says: Says) -> None:
        self.places = Places(galley.source)
        self._galley = galley
        self._origins = tree.extracts.origins
        self._says = says
        self._last: tuple[int, Span] = (0, (0, 0))

    def asked(self, node: Node) -> int:
        """The line that asks for a node which another file holds; 0 for one of the page's own."""
        return self._origins.get(node.source or "", 0) or (node.line or 0) * bool(node.get("taken"))

    def shown(self, node: Node) -> str:
        """What a node shows, as one line."""
        return " ".join(shown(node, self._says).split())

    def set(self, node: Node, broken: bool = False, before: str = "") -> None:
        """Set what a node shows after the words `before` it; `broken` says that its lines stay apart."""
        of_name = (node.get("named") or node.get("told")) and not self.asked(node)
        if of_name and (span := self.places.name(node.line)):
            self._galley.copy(*span) if node.get("named") else self._galley.stand(node.astext(), *span)
        elif content := self.content(node):
            self.pieces(node, content, broken, before)
        else:
            self.stand(before + (shown(node, self._says) if broken else self.shown(node)), node)

    def content(self, node: Node, soon: bool = True) -> Content | None:
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
            stretches.append(Stretch(at + len(line) - len(line.lstrip()), start, end - start))
            at += len(line) + 1
        return Content(node.rawsource, [stretch for stretch in stretches if stretch.length])

    def pieces(self, node: Node, content: Content, broken: bool = False, before: str = "") -> None:
        """Set what a node shows where its content stands."""
        first = [Piece(before, 0, 0)] if before else []
        for piece in (*first, *pieces(node, self._says)):
            verbatim = content.text[piece.start : piece.end] == piece.text
            if piece.text[0].isspace():
                self._galley.space()
            if verbatim:
                self._copy(content, piece.start, piece.end, broken)
            elif piece.text.strip():
                self._galley.stand(" ".join(piece.text.split()), *self._span(piece, content))
            if piece.text[-1].isspace():
                self._galley.space()

    def _span(self, piece: Piece, content: Content) -> Span:
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

    def stand(self, text: str, node: Node) -> None:
        """Set words that are not written so where their node is written or asked for."""
        line = self.asked(node)
        if line and line != self._last[0]:
            self._last = line, self.places.region(line, 1)
        span = self._last[1] if line else self.places.region(node.line, node.rawsource.count("\n") + 1)
        self._galley.stand(text, *span)

    def _copy(self, content: Content, start: int, end: int, broken: bool) -> None:
        for i, line in enumerate(content.lines(start, end)):
            if i:
                self._galley.gap("\n") if broken else self._galley.space()
            for span in line:
                self._galley.words(*span)
