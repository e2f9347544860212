"""Computes the visible text of inline markup and the source characters it comes from."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import groupby
from typing import TYPE_CHECKING, NamedTuple

from bookbound.domain.document import InlineKind
from bookbound.sources.rst.page_draft import References
from bookbound.sources.titles import MAX_TITLE_CHARS

if TYPE_CHECKING:
    from bookbound.sources.rst.docutils import DocutilsNode, RstTree

_ESCAPE = re.compile(r"\\(?:(?P<space>\s)|.|\Z)", re.DOTALL)
_OPENING_MARKUP = re.compile(r"(?::[\w:+.-]+:)?(?:``|`|\*\*|\*|\||_`)?")
_INLINE_KINDS: dict[str, InlineKind] = {
    "literal": "inline_code",
    "math": "inline_formula",
    "emphasis": "emphasis",
    "title_reference": "emphasis",
    "strong": "strong",
}
_HIDDEN_INLINE_TAGS = frozenset(("footnote_reference", "system_message", "raw", "image", "comment"))
_MAX_SUBSTITUTION_DEPTH = 5


class NodeReferences:
    """Tells what the references and substitutions in the tree of one page show."""

    def __init__(self, tree: RstTree, references: References, release_names: Mapping[str, str]) -> None:
        self._tree = tree
        self._references = references
        self._release_names = release_names
        self._substitutions: dict[str, str] = {}
        self._depth = 0
        self._links = tree.links

    def markup(self, node: DocutilsNode) -> tuple[InlineKind, str] | None:
        """Return how a node is marked up, and the target of a link."""
        if node.tagname == "reference":
            return "link", str(node.get("refuri") or self._links.get(node.get("refname") or "", ""))
        if target := node.get("target"):
            return "link", self._references.link(*target)
        kind = "inline_code" if node.get("is_code") else _INLINE_KINDS.get(node.tagname)
        return (kind, "") if kind else None

    def text(self, node: DocutilsNode) -> str | None:
        """Return what a node shows instead of its own text, or None if it shows its own."""
        if node.tagname == "substitution_reference":
            return self._substitute(node.astext())
        if node.tagname == "citation_reference":
            return f"[{node.astext()}]"
        reference = node.get("reference")
        return self._references.title(*reference) if reference else None

    def number(self, node: DocutilsNode) -> str:
        ids = node.get("ids")
        return self._references.number(ids[0]) if ids else ""

    def _substitute(self, name: str) -> str:
        """Return the text defined for a name; an unknown name keeps its bars."""
        if name not in self._substitutions:
            definition = self._tree.find_substitution(name)
            if definition is None or self._depth >= _MAX_SUBSTITUTION_DEPTH:
                is_emoji = name.startswith(":") and name.endswith(":")
                return self._release_names.get(name, "" if is_emoji else f"|{name}|")
            self._depth += 1
            text = "".join(get_visible_text(child, self) for child in definition.children)
            self._substitutions[name] = text[:MAX_TITLE_CHARS]
            self._depth -= 1
        return self._substitutions[name]


def get_visible_text(node: DocutilsNode, references: NodeReferences) -> str:
    if _is_text(node):
        return str(node)
    if node.tagname in _HIDDEN_INLINE_TAGS or _is_link_target(node):
        return ""
    text = references.text(node)
    return "".join(get_visible_text(child, references) for child in node.children) if text is None else text


class InlinePiece(NamedTuple):
    """Text that is shown for the characters `start` to `end` of the source, and how it is marked up."""

    text: str
    start: int
    end: int
    markup: tuple[InlineKind, str] | None = None


def split_inline(node: DocutilsNode, references: NodeReferences) -> Iterator[InlinePiece]:
    """Split what a paragraph shows into pieces, each located by the markup it was parsed from."""
    raw, at, text = node.rawsource, 0, ""
    for child in node.children:
        markup = "" if _is_text(child) or _is_link_target(child) else child.rawsource
        found = raw.find(markup, at + len(text)) if markup else -1
        if _is_text(child):
            text += child.astext()
        elif child.get("generated"):
            yield from _locate_unescaped(text, raw, at, at + len(text))
            at, text = at + len(text), ""
            yield InlinePiece(child.astext(), at, at)
        elif found < 0:
            text += get_visible_text(child, references)
        else:
            yield from _locate_unescaped(text, raw, at, found)
            pieces = _locate_element(get_visible_text(child, references), markup, found)
            yield from (piece._replace(markup=references.markup(child)) for piece in pieces)
            at, text = found + len(markup), ""
    yield from _locate_unescaped(text, raw, at, len(raw))


def _is_text(node: DocutilsNode) -> bool:
    return str(node.tagname) == "#text"


def _is_link_target(node: DocutilsNode) -> bool:
    """Whether this is the target of a link, which is written inside the link itself."""
    return node.tagname == "target" and not node.children


def _locate_element(text: str, markup: str, at: int) -> Iterator[InlinePiece]:
    opening = _OPENING_MARKUP.match(markup)
    inner = opening.end() if opening else 0
    found = markup.find(text, inner) if text else -1
    name = text.removesuffix("()")
    if found >= 0:
        yield InlinePiece(text, at + found, at + found + len(text))
    elif text != name and (found := markup.find(name, inner)) >= 0:
        end = at + found + len(name)
        yield from (InlinePiece(name, at + found, end), InlinePiece("()", end, end))
    elif text and "\\" in markup:
        yield from _locate_unescaped(text, markup, inner, len(markup), at)
    elif text:
        yield InlinePiece(text, at, at + len(markup))


def _locate_unescaped(text: str, raw: str, start: int, end: int, base: int = 0) -> Iterator[InlinePiece]:
    """Locate text between the backslashes of its markup; if they do not match, it is one piece."""
    if not text:
        return
    if raw.startswith(text, start, end):
        yield InlinePiece(text, base + start, base + start + len(text))
        return
    escapes = _ESCAPE.finditer(raw, start, end)
    hidden = {i for found in escapes for i in range(found.start(), max(found.start() + 1, found.end("space")))}
    shown = [i for i in range(start, end) if i not in hidden][: len(text)]
    if "".join(raw[i] for i in shown) != text:
        yield InlinePiece(text, base + start, base + end)
        return
    for _, group in groupby(enumerate(shown), key=lambda pair: pair[1] - pair[0]):
        run = [i for _, i in group]
        yield InlinePiece(raw[run[0] : run[-1] + 1], base + run[0], base + run[-1] + 1)
