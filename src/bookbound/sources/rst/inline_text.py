"""Computes the visible text of inline markup and the source characters it comes from."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, NamedTuple, Protocol

from bookbound.sources.rst.page_draft import TitleLookup
from bookbound.sources.titles import MAX_TITLE_CHARS

if TYPE_CHECKING:
    from bookbound.sources.rst.docutils import DocutilsNode, RstTree


_ESCAPE = re.compile(r"\\(?:\s|\Z|(?=.))", re.DOTALL)
_OPENING_MARKUP = re.compile(r"(?::[\w:+.-]+:)?(?:``|`|\*\*|\*|\||_`)?")
# What of a paragraph a reader does not see, whatever it holds.
_HIDDEN_INLINE_TAGS = frozenset(("footnote_reference", "system_message", "raw", "image", "comment"))


class ReferenceResolver(Protocol):
    """What is shown for an element whose words stand elsewhere, such as a reference to a page's title."""

    def __call__(self, node: DocutilsNode) -> str | None: ...

    def number(self, node: DocutilsNode) -> str:
        """What is set before a node's title, or for the number of a formula."""
        ...


class InlinePiece(NamedTuple):
    """Words that are shown for the characters `start` to `end` of what is written."""

    text: str
    start: int
    end: int


def split_inline(node: DocutilsNode, says: ReferenceResolver) -> Iterator[InlinePiece]:
    """What a paragraph shows; each element is found again by what was written for it."""
    raw, at, words = node.rawsource, 0, ""
    for child in node.children:
        written = "" if is_text(child) or _is_link_target(child) else child.rawsource
        found = raw.find(written, at + len(words)) if written else -1
        if is_text(child):
            words += child.astext()
        elif child.get("told"):
            yield from _locate_unescaped(words, raw, at, at + len(words))
            at, words = at + len(words), ""
            yield InlinePiece(child.astext(), at, at)
        elif found < 0:
            words += get_visible_text(child, says)
        else:
            yield from _locate_unescaped(words, raw, at, found)
            yield from _locate_element(get_visible_text(child, says), written, found)
            at, words = found + len(written), ""
    yield from _locate_unescaped(words, raw, at, len(raw))


def is_text(node: DocutilsNode) -> bool:
    return str(node.tagname) == "#text"


def _is_link_target(node: DocutilsNode) -> bool:
    """Whether this is where a link leads, which is written within the link itself."""
    return node.tagname == "target" and not node.children


def get_visible_text(node: DocutilsNode, says: ReferenceResolver) -> str:
    """All that an element shows, as one text."""
    if is_text(node):
        return str(node)
    if node.tagname in _HIDDEN_INLINE_TAGS or _is_link_target(node):
        return ""
    said = says(node)
    return "".join(get_visible_text(child, says) for child in node.children) if said is None else said


def _locate_element(text: str, written: str, at: int) -> Iterator[InlinePiece]:
    opening = _OPENING_MARKUP.match(written)
    inner = opening.end() if opening else 0
    found = written.find(text, inner) if text else -1
    named = text.removesuffix("()")
    if found >= 0:
        yield InlinePiece(text, at + found, at + found + len(text))
    elif text != named and (found := written.find(named, inner)) >= 0:
        end = at + found + len(named)
        yield from (InlinePiece(named, at + found, end), InlinePiece("()", end, end))
    elif text and "\\" in written:
        yield from _locate_unescaped(text, written, inner, len(written), at)
    elif text:
        yield InlinePiece(text, at, at + len(written))


def _locate_unescaped(text: str, raw: str, start: int, end: int, base: int = 0) -> Iterator[InlinePiece]:
    """Words that were written with backslashes: what stands between these; all as one where that does not add up."""
    if not text:
        return
    if raw.startswith(text, start, end):
        yield InlinePiece(text, base + start, base + start + len(text))
        return
    found: list[InlinePiece] = []
    at, left = start, text
    while at < end and left:
        escape = _ESCAPE.search(raw, at, end)
        stop = min(escape.start() if escape else end, at + len(left))
        if not left.startswith(raw[at:stop]):
            break
        found += [InlinePiece(raw[at:stop], base + at, base + stop)] if stop > at else []
        left, at = left[stop - at :], stop
        if escape and at == escape.start():
            at = escape.end()
            if left and escape.end() == escape.start() + 1 and left[0] == raw[at : at + 1]:
                found.append(InlinePiece(left[0], base + at, base + at + 1))
                left, at = left[1:], at + 1
    yield from [InlinePiece(text, base + start, base + end)] if left else found


_MAX_SUBSTITUTION_DEPTH = 5


class PageReferences:
    """Tells what stands in the place of one page's references."""

    def __init__(self, tree: RstTree, titles: TitleLookup, words: Mapping[str, str]) -> None:
        self._tree = tree
        self._titles = titles
        self._words = words
        self._known: dict[str, str] = {}
        self._depth = 0

    def __call__(self, node: DocutilsNode) -> str | None:
        if node.tagname == "substitution_reference":
            return self._substituted(node.astext())
        if node.tagname == "citation_reference":
            return f"[{node.astext()}]"
        refers = node.get("refers")
        return self._titles(*refers) if refers else None

    def number(self, node: DocutilsNode) -> str:
        """The number of what has ids, as it is shown; nothing for what has none."""
        ids = node.get("ids")
        return (self._titles("number", ids[0]) or "") if ids else ""

    def _substituted(self, name: str) -> str:
        """The words that are defined for a name; a picture has none, and an unknown name stays between its bars."""
        if name not in self._known:
            defined = self._tree.substitute(name)
            if defined is None or self._depth >= _MAX_SUBSTITUTION_DEPTH:
                emoji = name.startswith(":") and name.endswith(":")
                return self._words.get(name, "" if emoji else f"|{name}|")
            self._depth += 1
            self._known[name] = "".join(get_visible_text(child, self) for child in defined.children)[:MAX_TITLE_CHARS]
            self._depth -= 1
        return self._known[name]
