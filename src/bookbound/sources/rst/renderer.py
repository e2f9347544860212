"""Renders a docutils tree as visible text with its structure."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING

from bookbound.domain.document import BlockKind
from bookbound.sources.page_builder import CharSpan, PageBuilder, RenderedPage
from bookbound.sources.plain_text import LIST_MARKER
from bookbound.sources.rst.inline_text import NodeReferences
from bookbound.sources.rst.shared_markup import TAB_WIDTH
from bookbound.sources.rst.text_writer import CODE_TAGS, HIDDEN_TAGS, TEXT_TAGS, TextWriter
from bookbound.sources.titles import MAX_TITLE_CHARS

if TYPE_CHECKING:
    from bookbound.sources.rst.docutils import DocutilsNode, RstTree

_ADMONITION_TAGS = "admonition note tip warning attention caution danger error hint important topic sidebar".split()
_MAX_INDENTATION = 200
_LANGUAGE = re.compile(r"[\w+#-]+")


def render_rst(source: str, tree: RstTree, references: NodeReferences) -> RenderedPage:
    renderer = _RstRenderer(source, tree, references)
    for child in tree.root.children:
        # The fields at the top describe the page.
        if child.tagname != "field_list" or renderer.builder.build().text:
            renderer.render(child, 0)
    return renderer.builder.build()


class _RstRenderer:
    """Renders the nodes of one page; `level` is the number of sections around a node."""

    def __init__(self, source: str, tree: RstTree, references: NodeReferences) -> None:
        self.builder = PageBuilder(source)
        self._writer = TextWriter(self.builder, tree, references)
        self._number = references.number
        self._steps: dict[str, Callable[[DocutilsNode, int], None]] = {
            **dict.fromkeys(HIDDEN_TAGS, lambda node, level: None),
            **dict.fromkeys(TEXT_TAGS, self._render_text),
            **dict.fromkeys(CODE_TAGS, lambda node, level: self._render_code(node)),
            **dict.fromkeys(_ADMONITION_TAGS, lambda node, level: self._render_block("admonition", node, level)),
            **dict.fromkeys(("bullet_list", "enumerated_list"), self._render_list),
            "block_quote": self._render_quote,
            "citation": self._render_citation,
            "container": self._render_container,
            "section": lambda node, level: self._render_children(node, level + 1),
            "table": self._render_table,
            "line_block": self._render_line_block,
            "image": lambda node, level: self.builder.add_picture(node.get("uri") or "", node.get("alt") or ""),
            "option": lambda node, level: self._render_verbatim(node.rawsource, node),
        }

    def render(self, node: DocutilsNode, level: int) -> None:
        self._steps.get(node.tagname, self._render_children)(node, level)

    def _render_children(self, node: DocutilsNode, level: int) -> None:
        for child in node.children:
            self.render(child, level)

    def _render_block(self, kind: BlockKind, node: DocutilsNode, level: int) -> None:
        self.builder.open_block(kind, variant=node.tagname if kind == "admonition" else "")
        self._render_children(node, level)
        self.builder.close_block(_get_first_id(node))

    def _render_quote(self, node: DocutilsNode, level: int) -> None:
        with self.builder.markup("quote"):
            self._render_children(node, level)

    def _render_citation(self, node: DocutilsNode, level: int) -> None:
        self._render_verbatim(f"[{node[0].astext()}]", node)
        self._render_children(node, level)

    def _render_container(self, node: DocutilsNode, level: int) -> None:
        if node.get("is_object"):
            self._render_block("definition", node, level)
        else:
            self._render_children(node, level)

    def _render_text(self, node: DocutilsNode, level: int) -> None:
        parent = node.parent
        is_heading = node.tagname == "title" and parent.tagname == "section" and len(node.rawsource) <= MAX_TITLE_CHARS
        number = self._number(parent) if node.tagname in ("title", "caption") else ""
        variant = node.tagname if node.tagname in ("term", "caption") else ""
        self.builder.open_block("heading" if is_heading else "paragraph", level * is_heading, variant=variant)
        self._writer.write(node, before=f"{number} " if number else "")
        self.builder.close_block(_get_first_id(parent if is_heading or parent.tagname == "figure" else node))

    def _render_code(self, node: DocutilsNode) -> None:
        self.builder.open_block(CODE_TAGS[node.tagname], variant=_find_language(node))
        if any(child.tagname != "#text" for child in node.children):
            self._writer.write(node, keep_lines=True)
        elif text := node.astext().strip("\n"):
            lines = text.split("\n")
            spans = None if self._writer.include_line(node) else self._writer.locator.find(lines, node.line)
            if spans is None:
                self._writer.substitute(text, node)
            else:
                self.builder.copy_lines([self._widen(line, *span) for line, span in zip(lines, spans, strict=True)])
            if number := self._number(node):
                self.builder.add_space()
                self.builder.append_generated(number)
        is_captioned = bool(node.parent.get("literal_block"))
        self.builder.close_block(_get_first_id(node) or _get_first_id(node.parent) * is_captioned)

    def _widen(self, line: str, start: int, end: int) -> CharSpan:
        """Add the indentation and the trailing spaces of a code line to its span."""
        source = self.builder.source
        line_end = source.find("\n", end)
        line_end = line_end if line_end >= 0 else len(source)
        before = source[max(source.rfind("\n", 0, start) + 1, start - _MAX_INDENTATION) : start]
        depth = len(line) - len(line.lstrip()) if line.strip() else 0
        outer = len(before.expandtabs(TAB_WIDTH)) - depth
        kept = next(at for at in range(len(before) + 1) if len(before[:at].expandtabs(TAB_WIDTH)) >= outer)
        if not before[kept:].strip(" \t"):
            start -= len(before) - kept
        return start, end if source[end:line_end].strip() else line_end

    def _render_list(self, node: DocutilsNode, level: int) -> None:
        self.builder.open_block("list")
        for item in node.children:
            self.builder.open_block("item", marker=self._find_marker(item))
            self._render_children(item, level)
            self.builder.close_block()
        self.builder.close_block()

    def _find_marker(self, item: DocutilsNode) -> CharSpan | None:
        if not item.line or self._writer.include_line(item):
            return None
        start, end = self._writer.locator.line_span(item.line)
        line = self.builder.source[start:end]
        start += len(line) - len(line.lstrip())
        found = LIST_MARKER.match(self.builder.source, start, end)
        if not found:
            return None
        self._writer.locator.position = found.end()
        return start, start + len(found[0].rstrip()) + 1

    def _render_line_block(self, node: DocutilsNode, level: int) -> None:
        self.builder.open_block("paragraph")
        for line in node.findall(lambda child: child.tagname == "line"):
            self.builder.add_gap("\n")
            self._writer.write(line)
        self.builder.close_block()

    def _render_verbatim(self, text: str, node: DocutilsNode) -> None:
        self.builder.open_block("paragraph")
        spans = None if self._writer.include_line(node) else self._writer.locator.find([text], node.line)
        if spans:
            self.builder.copy(*spans[0])
        else:
            self._writer.substitute(text, node)
        self.builder.close_block()

    def _render_table(self, node: DocutilsNode, level: int) -> None:
        for title in (child for child in node.children if child.tagname == "title"):
            self._render_text(title, 0)
        self.builder.open_block("table")
        for row in node.findall(lambda child: child.tagname == "row"):
            self.builder.open_block("row", variant="header" if row.parent.tagname == "thead" else "")
            self._writer.write_row(row)
            self.builder.close_block()
        self.builder.close_block(_get_first_id(node))


def _find_language(node: DocutilsNode) -> str:
    """Find the language of code; that of an included file is its ending."""
    words = str(node.get("language") or "").lower().split()
    name = words[0].rpartition(".")[2] if words else ""
    return "pycon" if node.tagname == "doctest_block" else name if _LANGUAGE.fullmatch(name) else ""


def _get_first_id(node: DocutilsNode) -> str:
    return next(iter(node.get("ids") or ()), "")
