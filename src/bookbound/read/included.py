"""What a page of plain Markdown takes from other files: `{% include "file" %}`, as GitBook writes it."""

from __future__ import annotations

import re
from pathlib import Path

from bookbound.read import files
from bookbound.read.frontmatter import front_matter
from bookbound.read.woven import DEEPEST, Shelf, Swap, weave

_INCLUDE = re.compile(r"""\{%[ \t]*+include[ \t]++(?P<quote>["'])(?P<name>[^"'\n]++)(?P=quote)[ \t]*+%\}""")


def included(source: str, path: Path, shelf: Shelf, start: int = 0, depth: int = 0) -> list[Swap]:
    """The includes of the page at `path` from `start` on, each with the words of the file beside it that it names."""
    swaps = []
    for found in _INCLUDE.finditer(source, start):
        other = files.beside(path.parent, found["name"])
        text = shelf.text(other, found["name"]) if depth < DEEPEST else None
        words = ""
        if text is not None and other is not None:
            own = text[front_matter(text).end :]
            words = weave(own, included(own, other, shelf, depth=depth + 1)).text
        swaps.append(Swap(*found.span(), words))
    return swaps
