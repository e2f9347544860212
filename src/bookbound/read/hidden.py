"""Lines of code that a book compiles and does not show."""

from __future__ import annotations

import re
from collections.abc import Iterator

from bookbound.read.cut import NOTHING, Cut

_LANGUAGE = re.compile(r"[`~][ \t]*(?P<language>[\w+-]+)")
_OWN = re.compile(r"\bhidelines=(?P<prefix>[^\s,`]+)")


def hidden_lines(source: str, opening: re.Match[str], end: int, hidden: tuple[tuple[str, str], ...]) -> Iterator[Cut]:
    """What is not seen of the code after `opening`: the lines that begin as its language hides them.

    Rust hides a hash before a space or alone; of two hashes one is seen.
    """
    language, own = _LANGUAGE.search(opening[0]), _OWN.search(opening[0])
    prefix = own["prefix"] if own else dict(hidden).get(language["language"].lower() if language else "", "")
    if not prefix:
        return
    line = re.compile(rf"^(?P<space>[ \t]*){re.escape(prefix)}(?P<next>.?)[^\n]*$", re.MULTILINE)
    for found in line.finditer(source, opening.end(), end):
        if prefix != "#" or not found["next"].strip():
            yield Cut(*found.span())
        elif found["next"] == "#":
            yield Cut(found.start("next"), found.end("next"), NOTHING)
