"""What is shown of a paragraph of reStructuredText, piece by piece, and which of its written characters show it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    from bookbound.read.docutils import Node

_ESCAPE = re.compile(r"\\(?:\s|\Z|(?=.))", re.DOTALL)
_OPENING = re.compile(r"(?::[\w:+.-]+:)?(?:``|`|\*\*|\*|\||_`)?")
# What of a paragraph a reader does not see, whatever it holds.
_UNSEEN = frozenset(("footnote_reference", "system_message", "raw", "image", "comment"))


class Says(Protocol):
    """What is shown for an element whose words stand elsewhere, such as a reference to a page's title."""

    def __call__(self, node: Node) -> str | None: ...

    def number(self, node: Node) -> str:
        """What is set before a node's title, or for the number of a formula."""
        ...


class Piece(NamedTuple):
    """Words that are shown for the characters `start` to `end` of what is written."""

    text: str
    start: int
    end: int


def pieces(node: Node, says: Says) -> Iterator[Piece]:
    """What a paragraph shows; each element is found again by what was written for it."""
    raw, at, words = node.rawsource, 0, ""
    for child in node.children:
        written = "" if is_text(child) or _is_address(child) else child.rawsource
        found = raw.find(written, at + len(words)) if written else -1
        if is_text(child):
            words += child.astext()
        elif child.get("told"):
            yield from _unescaped(words, raw, at, at + len(words))
            at, words = at + len(words), ""
            yield Piece(child.astext(), at, at)
        elif found < 0:
            words += shown(child, says)
        else:
            yield from _unescaped(words, raw, at, found)
            yield from _element(shown(child, says), written, found)
            at, words = found + len(written), ""
    yield from _unescaped(words, raw, at, len(raw))


def is_text(node: Node) -> bool:
    return str(node.tagname) == "#text"


def _is_address(node: Node) -> bool:
    """Whether this is where a link leads, which is written within the link itself."""
    return node.tagname == "target" and not node.children


def shown(node: Node, says: Says) -> str:
    """All that an element shows, as one text."""
    if is_text(node):
        return str(node)
    if node.tagname in _UNSEEN or _is_address(node):
        return ""
    said = says(node)
    return "".join(shown(child, says) for child in node.children) if said is None else said


def _element(text: str, written: str, at: int) -> Iterator[Piece]:
    opening = _OPENING.match(written)
    inner = opening.end() if opening else 0
    found = written.find(text, inner) if text else -1
    named = text.removesuffix("()")
    if found >= 0:
        yield Piece(text, at + found, at + found + len(text))
    elif text != named and (found := written.find(named, inner)) >= 0:
        end = at + found + len(named)
        yield from (Piece(named, at + found, end), Piece("()", end, end))
    elif text and "\\" in written:
        yield from _unescaped(text, written, inner, len(written), at)
    elif text:
        yield Piece(text, at, at + len(written))


def _unescaped(text: str, raw: str, start: int, end: int, base: int = 0) -> Iterator[Piece]:
    """Words that were written with backslashes: what stands between these; all as one where that does not add up."""
    if not text:
        return
    if raw.startswith(text, start, end):
        yield Piece(text, base + start, base + start + len(text))
        return
    found: list[Piece] = []
    at, left = start, text
    while at < end and left:
        escape = _ESCAPE.search(raw, at, end)
        stop = min(escape.start() if escape else end, at + len(left))
        if not left.startswith(raw[at:stop]):
            break
        found += [Piece(raw[at:stop], base + at, base + stop)] if stop > at else []
        left, at = left[stop - at :], stop
        if escape and at == escape.start():
            at = escape.end()
            if left and escape.end() == escape.start() + 1 and left[0] == raw[at : at + 1]:
                found.append(Piece(left[0], base + at, base + at + 1))
                left, at = left[1:], at + 1
    yield from [Piece(text, base + start, base + end)] if left else found
