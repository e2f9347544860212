"""Renders a docutils tree as visible text with its structure."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from bookbound.sources.page_builder import CharSpan, PageBuilder, RenderedPage
from bookbound.sources.plain_text import LIST_MARKER
from bookbound.sources.rst.inline_text import ReferenceResolver
from bookbound.sources.rst.source_locator import TAB_WIDTH
from bookbound.sources.rst.text_writer import ADMONITION_TAGS, CODE_TAGS, HIDDEN_TAGS, TEXT_TAGS, TextWriter, write_row
from bookbound.sources.titles import MAX_TITLE_CHARS

if TYPE_CHECKING:
    from bookbound.sources.rst.docutils import DocutilsNode, RstTree


_MAX_INDENTATION = 200


def render_rst(source: str, tree: RstTree, says: ReferenceResolver) -> RenderedPage:
    """The visible text of a page; `says` tells what references show."""
    galley = PageBuilder(source)
    _RstRenderer(galley, tree, says).page(tree.root)
    return galley.finish()


class _RstRenderer:
    """Sets the nodes of one page, block by block."""

    def __init__(self, galley: PageBuilder, tree: RstTree, says: ReferenceResolver) -> None:
        self.galley = galley
        self.words = TextWriter(galley, tree, says)
        self.number = says.number
        self.steps: dict[str, Callable[[DocutilsNode, int], None]] = {
            **dict.fromkeys(HIDDEN_TAGS, lambda node, level: None),
            **dict.fromkeys(TEXT_TAGS, self._block),
            **dict.fromkeys(CODE_TAGS, self._code),
            **dict.fromkeys(ADMONITION_TAGS, self._admonition),
            **dict.fromkeys(("bullet_list", "enumerated_list"), self._list),
            "container": self._container,
            "section": lambda node, level: self._children(node, level + 1),
            "table": self._table,
            "line_block": self._lines,
            "citation": self._citation,
            "option": self._option,
        }

    def page(self, root: DocutilsNode) -> None:
        """Set all but the fields above the first words, which are about the page."""
        for child in root.children:
            if child.tagname != "field_list" or not self.galley.empty:
                self._set(child, 0)

    def _set(self, node: DocutilsNode, level: int) -> None:
        self.steps.get(node.tagname, self._children)(node, level)

    def _children(self, node: DocutilsNode, level: int) -> None:
        for child in node.children:
            self._set(child, level)

    def _admonition(self, node: DocutilsNode, level: int) -> None:
        self.galley.open("admonition")
        self._children(node, level)
        self.galley.close(_first_id(node))

    def _block(self, node: DocutilsNode, level: int) -> None:
        """A heading where it titles a section, else a paragraph."""
        named = node.tagname in ("title", "caption")
        titles = node.tagname == "title" and node.parent.tagname == "section" and len(node.rawsource) <= MAX_TITLE_CHARS
        number = self.number(node.parent) if named else ""
        self.galley.open("heading" if titles else "paragraph", level * titles)
        self.words.set(node, before=f"{number} " * bool(number))
        self.galley.close(_first_id(node.parent if titles or node.parent.tagname == "figure" else node))

    def _container(self, node: DocutilsNode, level: int) -> None:
        """A thing and what is said of it as one; all else is what it holds."""
        if node.get("thing"):
            self.galley.open("definition")
            self._children(node, level)
            self.galley.close(_first_id(node))
        else:
            self._children(node, level)

    def _code(self, node: DocutilsNode, level: int) -> None:
        self.galley.open(CODE_TAGS[node.tagname])
        if any(child.tagname != "#text" for child in node.children):
            self.words.set(node, broken=True)
        elif text := node.astext().strip("\n"):
            lines = text.split("\n")
            spans = None if self.words.asked(node) else self.words.places.find(lines, node.line)
            if spans is None:
                self.words.stand(text, node)
            else:
                self.galley.lines([self._whole(line, *span) for line, span in zip(lines, spans, strict=True)])
            if number := self.number(node):
                self.galley.space()
                self.galley.tell(number)
        self.galley.close(_first_id(node) or _first_id(node.parent) * bool(node.parent.get("literal_block")))

    def _whole(self, line: str, start: int, end: int) -> CharSpan:
        """Where a line of code stands, with its indentation and to its end."""
        source = self.galley.source
        line_end = source.find("\n", end)
        line_end = line_end if line_end >= 0 else len(source)
        depth = len(line) - len(line.lstrip()) if line.strip() else 0
        before = source[max(source.rfind("\n", 0, start) + 1, start - _MAX_INDENTATION) : start]
        return start - _count_indentation_characters(before, depth), end if source[end:line_end].strip() else line_end

    def _list(self, node: DocutilsNode, level: int) -> None:
        self.galley.open("list")
        for item in node.children:
            self.galley.open("item", marker=self._marker(item))
            self._children(item, level)
            self.galley.close()
        self.galley.close()

    def _marker(self, item: DocutilsNode) -> CharSpan | None:
        if not item.line or self.words.asked(item):
            return None
        start, end = self.words.places.line(item.line)
        start += len(self.galley.source[start:end]) - len(self.galley.source[start:end].lstrip())
        found = LIST_MARKER.match(self.galley.source, start, end)
        if not found:
            return None
        self.words.places.at = found.end()
        return start, start + len(found[0].rstrip()) + 1

    def _lines(self, node: DocutilsNode, level: int) -> None:
        self.galley.open("paragraph")
        for line in node.findall(lambda one: one.tagname == "line"):
            self.galley.gap("\n")
            self.words.set(line)
        self.galley.close()

    def _option(self, node: DocutilsNode, level: int) -> None:
        """An option of a command, as it is written."""
        self._found(node.rawsource, node)

    def _citation(self, node: DocutilsNode, level: int) -> None:
        """What is cited, under the name it is cited by."""
        self._found(f"[{node[0].astext()}]", node)
        self._children(node, level)

    def _found(self, text: str, node: DocutilsNode) -> None:
        self.galley.open("paragraph")
        spans = None if self.words.asked(node) else self.words.places.find([text], node.line)
        if spans:
            self.galley.copy(*spans[0])
        else:
            self.words.stand(text, node)
        self.galley.close()

    def _table(self, node: DocutilsNode, level: int) -> None:
        for title in node.children:
            if title.tagname == "title":
                self._block(title, 0)
        self.galley.open("table")
        for row in node.findall(lambda one: one.tagname == "row"):
            self.galley.open("row")
            write_row(row, self.galley, self.words)
            self.galley.close()
        self.galley.close(_first_id(node))


def _first_id(node: DocutilsNode) -> str:
    return next(iter(node.get("ids") or ()), "")


def _count_indentation_characters(indentation: str, depth: int) -> int:
    """How many characters of an indentation make up the last `depth` columns of it."""
    outer = len(indentation.expandtabs(TAB_WIDTH)) - depth
    if "\t" not in indentation:
        return depth if outer >= 0 and indentation.endswith(" " * depth) else 0
    widths = (len(indentation[:at].expandtabs(TAB_WIDTH)) for at in range(len(indentation)))
    return next((len(indentation) - at for at, width in enumerate(widths) if width >= outer), 0)
