"""Tables of contents that are written as YAML, or within a folder's opening page."""

from __future__ import annotations

import re
from pathlib import Path

from bookbound.read import decode, files
from bookbound.read.frontmatter import FrontMatter, load
from bookbound.read.summary import Entry, Summary

_NAME = "_toctree.yml"
_FENCE = re.compile(r"^```toc[ \t]*\n(?P<body>(?:(?!```)[^\n]*\n)*)```", re.MULTILINE)


def find_toctree(root: Path, paths: list[Path]) -> Summary | None:
    """The topmost `_toctree.yml` below `root` that stands beside or above pages and lists some of them."""
    for folder in sorted({path.parent for path in paths}, key=lambda path: (len(path.parts), path)):
        for home in (folder, folder.parent):
            if home.is_relative_to(root) and files.is_file(home / _NAME):
                summary = Summary(home / _NAME, None, _entries(home, set(paths)))
                if summary.entries:
                    return summary
    return None


def _entries(home: Path, known: set[Path]) -> dict[Path, Entry]:
    text, _ = decode.load(home / _NAME, _NAME, decode.LARGEST_SETTINGS)
    listed = load(text or "")
    entries: dict[Path, Entry] = {}
    waiting: list[tuple[object, str]] = [(one, "") for one in reversed(listed if isinstance(listed, list) else [])]
    while waiting:
        item, chapter = waiting.pop()
        fields = FrontMatter(item if isinstance(item, dict) else {})
        title = fields.text("title")
        path = files.beside(home, fields.text("local")) if fields.text("local") else None
        pages = [page for end in (".mdx", ".md") if path and (page := path.with_name(path.name + end)) in known]
        for page in pages[:1]:
            entries.setdefault(page, Entry(title, chapter or title))
        inside = fields.fields.get("sections")
        waiting += [(one, chapter or title) for one in reversed(inside if isinstance(inside, list) else [])]
    return entries


def fenced_order(paths: list[Path]) -> dict[Path, int]:
    """The place of each page that a `toc` block in the opening page of its folder lists."""
    known = set(paths)
    order: dict[Path, int] = {}
    for path in paths:
        source = decode.load(path, path.name)[0] if path.stem == "index" else None
        for found in _FENCE.finditer(source or ""):
            for line in found["body"].split("\n"):
                page = files.beside(path.parent, f"{line.strip()}.md") if line.strip() else None
                if page in known and page.parent == path.parent:
                    order.setdefault(page, len(order))
    return order
