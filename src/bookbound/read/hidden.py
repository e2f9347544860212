"""Lines of code that a book compiles and does not show."""

from __future__ import annotations

import re
from collections.abc import Iterator

from bookbound.read.cut import NOTHING, Cut
from bookbound.read.dialect import Dialect

_LANGUAGE = re.compile(r"[`~][ \t]*(?P<language>[\w+-]+)")
# What a site for programs colours lines by; with numbers of lines in braces it shows them.
_HIGHLIGHT = re.compile(
    r"^[ \t]*(?://|#|/\*|\{/\*|<!--|--|%)[ \t]*highlight-(?:next-line|start|end)[ \t]*(?:\*/\}?|-->)?[ \t]*$",
    re.MULTILINE,
)
_OWN = re.compile(r"\bhidelines=(?P<prefix>[^\s,`]+)")


def hidden_lines(source: str, opening: re.Match[str], end: int, dialect: Dialect) -> Iterator[Cut]:
    """What is not seen of the code after `opening`: comments that colour it, lines that its language hides.

    Rust hides a hash before a space or alone; of two hashes one is seen.
    """
    if dialect.expressions and "{" not in opening[0]:
        yield from (Cut(*found.span()) for found in _HIGHLIGHT.finditer(source, opening.end(), end))
    language, own = _LANGUAGE.search(opening[0]), _OWN.search(opening[0])
    prefix = own["prefix"] if own else dict(dialect.hidden).get(language["language"].lower() if language else "", "")
    if not prefix or not dialect.hidden:
        return
    line = re.compile(rf"^(?P<space>[ \t]*){re.escape(prefix)}(?P<next>.?)[^\n]*$", re.MULTILINE)
    for found in line.finditer(source, opening.end(), end):
        if prefix != "#" or not found["next"].strip():
            yield Cut(*found.span())
        elif found["next"] == "#":
            yield Cut(found.start("next"), found.end("next"), NOTHING)
