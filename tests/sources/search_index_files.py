"""Writes search indexes as generators do, from lines of address, title and anchor."""

from __future__ import annotations

import json
import zlib
from collections.abc import Sequence
from typing import Any

Lines = Sequence[tuple[str, str, str]]


def mkdocs(lines: Lines) -> str:
    docs = [{"location": f"{page}{'#' * bool(at)}{at}", "title": title, "text": "words"} for page, title, at in lines]
    return json.dumps({"config": {"lang": ["en"], "separator": "[\\s\\-]+"}, "docs": docs})


def mdbook(lines: Lines) -> str:
    """Return the bare object, which mdBook wraps in several ways."""
    docs = {str(at): {"body": "words", "id": str(at), "title": title} for at, (_, title, _) in enumerate(lines)}
    trie = {"w": {"o": {"df": 1, "docs": {"0": {"tf": 1.0}}}}, "df": 0, "docs": {}}
    index = {"documentStore": {"docInfo": {"0": {"body": 1}}, "docs": docs, "length": len(docs)}, "index": trie}
    urls = [f"{page}{'#' * bool(at)}{at}" for page, _, at in lines]
    return json.dumps({"doc_urls": urls, "index": index, "results_options": {"limit_results": 30}})


def wrap_mdbook_index(text: str) -> str:
    """Wrap an mdBook index as newer versions do."""
    inner = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"window.search = Object.assign(window.search, JSON.parse('{inner}'));"


def sphinx(lines: Lines, old: bool = False) -> str:
    """Return a Sphinx index; old ones list no headings and quote no names."""
    docs = [(page, title) for page, title, at in lines if not at]
    names = [page for page, _ in docs]
    headings: dict[str, list[Any]] = {title: [[names.index(page), None]] for page, title in docs}
    for page, title, at in lines:
        if at:
            headings.setdefault(title, []).append([names.index(page), at])
    parts: dict[str, object] = {"docnames": names, "filenames": [f"{name}.rst" for name in names]}
    parts |= {"titles": [title for _, title in docs], "terms": {"docnames": [0, 1], "oil": 2}}
    if old:
        return f"Search.setIndex({{{','.join(f'{name}:{json.dumps(value)}' for name, value in parts.items())}}})"
    return f"Search.setIndex({json.dumps({'alltitles': headings, **parts})})"


def make_inventory(lines: str) -> bytes:
    head = b"# Sphinx inventory version 2\n# Project: Lamps\n# Version: 1\n# The rest is compressed using zlib.\n"
    return head + zlib.compress(lines.encode())
