"""What a page of a GitBook takes from other files: `{% include "file" %}`."""

from __future__ import annotations

import re
from pathlib import Path

from bookbound.read import files
from bookbound.read.frontmatter import front_matter
from bookbound.read.prose import prose
from bookbound.read.woven import DEEPEST, Shelf, Swap, weave

_INCLUDE = re.compile(r"""\{%[ \t]*+include[ \t]++(?P<quote>["'])(?P<name>[^"'\n]++)(?P=quote)[ \t]*+%\}""")


def included(source: str, path: Path, shelf: Shelf, start: int = 0, depth: int = 0) -> list[Swap]:
    """The includes of the page at `path` from `start` on, each with the words of the file beside it that it names.

    Where there is no such file, what is written stays.
    """
    swaps = []
    plain = prose(source)
    for found in _INCLUDE.finditer(source, start):
        other = files.beside(path.parent, found["name"])
        there = other is not None and files.is_file(other)
        if not there and plain.startswith(" ", found.start()):
            continue  # a template that is shown, and asks for nothing
        text = shelf.text(other, found["name"]) if depth < DEEPEST else None
        if text is not None and other is not None:
            own = text[front_matter(text).end :]
            swaps.append(Swap(*found.span(), weave(own, included(own, other, shelf, depth=depth + 1)).text))
    return swaps
