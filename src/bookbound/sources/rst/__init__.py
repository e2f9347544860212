"""Reads a reStructuredText page as a draft whose references are not resolved yet."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from bookbound.domain.document import SourceNotice
from bookbound.sources import files, plain_text
from bookbound.sources.rst.page_draft import (
    Outline,
    OutlineItem,
    OutlineKind,
    PageDraft,
    ProjectContext,
)

if TYPE_CHECKING:
    from bookbound.sources.rst.docutils import DocutilsNode, RstTree


def draft_rst(source: str, path: Path, file: str, desk: ProjectContext) -> PageDraft:
    """A page of reStructuredText; one that docutils makes nothing of is set as plain text."""
    from bookbound.sources.rst.docutils import ParseContext, parse_rst
    from bookbound.sources.rst.inline_text import PageReferences
    from bookbound.sources.rst.renderer import render_rst

    config = desk.config
    extracts = ParseContext(desk.shelf, desk.home, path, dict(config.shorthands), config.todos)
    tree = parse_rst(source, extracts, config.prolog, config.epilog)
    notices = desk.shelf.notices(file)
    if tree is None:
        odd = SourceNotice(file, "is no reStructuredText that docutils can read; set as plain text")
        return PageDraft(source, "", {}, (), lambda _: plain_text.render_plain_text(source), notices=(*notices, odd))
    words = dict(config.words)
    return PageDraft(
        source,
        tree.title,
        tree.labels,
        tuple(extracts.toctrees),
        lambda titles: render_rst(source, tree, PageReferences(tree, titles, words)),
        tree.orphan,
        (*notices, *_get_autodoc_notices(extracts.described, file)),
        outline_rst(tree),
        tree.targets,
    )


def _get_autodoc_notices(described: list[str], file: str) -> list[SourceNotice]:
    """That words of a page stand in code, which is not read."""
    if not described:
        return []
    return [
        SourceNotice(
            file, f"shows what autodoc takes from code, which is not read: {files.join_first_names(described)}"
        )
    ]


_TITLE_TAGS = frozenset(("title", "caption"))


def outline_rst(tree: RstTree) -> Outline:
    """What of a page can be numbered: sections and formulas with ids, and what has a caption."""
    return tuple(_collect_outline_items(tree.root, 0))


def _collect_outline_items(node: DocutilsNode, level: int) -> Iterator[OutlineItem]:
    for child in node.children:
        kind = _get_outline_kind(child)
        below = level + (kind == "section")
        if kind == "toctree":
            yield OutlineItem(kind, level, (str(child["toctree"]),))
        elif kind and child["ids"]:
            named = next((one for one in child.children if one.tagname in _TITLE_TAGS), None)
            title = " ".join(named.astext().split()) if named else ""
            if title or kind == "displaymath":
                yield OutlineItem(kind, below, tuple(child["ids"]), title)
        if child.tagname != "#text":
            yield from _collect_outline_items(child, below)


def _get_outline_kind(node: DocutilsNode) -> OutlineKind | None:
    match node.tagname:
        case "section":
            return "section"
        case "figure":
            return "figure"
        case "table":
            return "table"
        case "math_block":
            return "displaymath"
        case "container" if node.get("literal_block"):
            return "code-block"
        case "container" if "toctree" in node:
            return "toctree"
    return None
