"""Reads a reStructuredText page as a draft whose references are not resolved yet."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from bookbound.domain.document import SourceNotice
from bookbound.sources import files
from bookbound.sources.plain_text import render_plain_text
from bookbound.sources.rst.page_draft import OutlineItem, OutlineKind, PageDraft, ProjectContext

if TYPE_CHECKING:
    from bookbound.sources.rst.docutils import DocutilsNode

_OUTLINE_KINDS: dict[str, OutlineKind] = {
    "section": "section",
    "figure": "figure",
    "table": "table",
    "math_block": "displaymath",
}


def draft_rst(source: str, path: Path, file: str, project: ProjectContext) -> PageDraft:
    """Draft a page; one that docutils cannot parse is shown as plain text."""
    # Importing docutils takes long, and most books do not need it.
    from bookbound.sources.rst.docutils import parse_rst
    from bookbound.sources.rst.docutils.content_directive import ParseContext
    from bookbound.sources.rst.inline_text import NodeReferences
    from bookbound.sources.rst.renderer import render_rst

    markup = project.markup
    context = ParseContext(project, path)
    tree = parse_rst(source, context)
    notices = project.includes.take_notices(file)
    if tree is None:
        notices.append(SourceNotice(file, "docutils cannot parse this page; it is shown as plain text"))
        return PageDraft(file, source, "", {}, (), lambda _: render_plain_text(source), notices=tuple(notices))
    if context.autodoc_names:
        names = files.join_first_names(context.autodoc_names)
        notices.append(SourceNotice(file, f"autodoc text comes from code, which is not read: {names}"))
    return PageDraft(
        file,
        source,
        tree.title,
        tree.labels,
        tuple(context.toctrees),
        lambda references: render_rst(source, tree, NodeReferences(tree, references, markup.release_names)),
        tree.is_orphan,
        tuple(notices),
        tuple(_collect_outline_items(tree.root, 0)),
        tree.targets,
    )


def _collect_outline_items(node: DocutilsNode, level: int) -> Iterator[OutlineItem]:
    for child in node.children:
        kind = _OUTLINE_KINDS.get(child.tagname)
        if child.tagname == "container":
            kind = "code-block" if child.get("literal_block") else "toctree" if "toctree" in child else None
        below = level + (kind == "section")
        if kind == "toctree":
            yield OutlineItem(kind, level, (str(child["toctree"]),))
        elif kind and child["ids"]:
            named = next((part for part in child.children if part.tagname in ("title", "caption")), None)
            title = " ".join(named.astext().split()) if named else ""
            if title or kind == "displaymath":
                yield OutlineItem(kind, below, tuple(child["ids"]), title)
        if child.tagname != "#text":
            yield from _collect_outline_items(child, below)
