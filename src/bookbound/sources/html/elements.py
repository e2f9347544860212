"""Defines the HTML element tree and recognises headings, permalinks, tables, code and formulas in it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import dropwhile, islice
from typing import NamedTuple

from bookbound.domain.document import InlineKind
from bookbound.sources.decoding import normalize_newlines

HEADING_LEVELS = {f"h{level}": level for level in range(1, 7)}
LIST_TAGS = frozenset(("ul", "ol", "menu", "dir"))
BLOCK_TAGS = LIST_TAGS | frozenset(
    "address article aside blockquote body button caption center dd details dialog div dl dt fieldset figcaption figure"
    " footer form header hgroup hr label legend li main nav p pre section summary table tbody td tfoot th thead tr"
    " h1 h2 h3 h4 h5 h6".split()
)
ADMONITION_CLASSES = frozenset(
    "admonition theme-admonition alert markdown-alert callout hint book-hint custom-block blockquote-tag".split()
)
INLINE_KINDS: dict[str, InlineKind] = {
    **dict.fromkeys(("code", "kbd", "samp", "tt"), "inline_code"),
    **dict.fromkeys(("em", "i", "cite", "dfn", "var"), "emphasis"),
    **dict.fromkeys(("strong", "b"), "strong"),
    "a": "link",
}
_LANGUAGE_CLASS = re.compile(r"(?:(?:language|lang|highlight-source|highlight)-|brush:-?)([\w+#-]+)")
_VARIANT_CLASS = re.compile(r"(?:theme-admonition-|alert--?|markdown-alert-|hint-|callout-|is-)?(\w+)")
_VARIANTS = frozenset(
    "note tip info warning danger caution important success question failure bug example quote abstract hint attention"
    " error seealso secondary".split()
)
_LAYOUT_TABLE_CLASSES = frozenset("highlighttable rouge-table lntable codehilitetable".split())
_PERMALINK_CLASSES = frozenset(
    "headerlink hash-link anchorjs-link permalink td-heading-self-link heading-anchor header-anchor anchor".split()
)
# A permalink is short; the limit keeps nested links from being searched again and again.
_MAX_PERMALINK_NODES = 100
_WORD = re.compile(r"\w")
_PERMALINK_SYMBOLS = frozenset(("#", "\u00b6", "\u00a7", "\u200b", "\U0001f517", "\u2693"))
_LINE_TAGS = frozenset(("div", "p", "li", "ol", "ul", "tr", "table", "pre"))
_DELIMITED_FORMULA = re.compile(
    r"\s*+(?P<number>\([\w.-]{1,20}\))?\s*+(?:\\\[(?P<block>.*)\\\]|\\\((?P<inline>.*)\\\)|\$\$(?P<dollars>.*)\$\$)\s*+",
    re.DOTALL,
)
_FORMULA_CLASSES = frozenset(("math", "arithmatex"))
VOID_TAGS = frozenset("area base br col embed hr img input link meta param source track wbr".split())
"""Elements without content, which are never closed."""


@dataclass(slots=True, eq=False)
class HtmlElement:
    """An element: its tag, its attributes, and the text and elements inside it in order."""

    tag: str
    attributes: dict[str, str | None] = field(default_factory=dict)
    children: list[HtmlElement | str] = field(default_factory=list)

    def get(self, name: str) -> str:
        return self.attributes.get(name) or ""

    @property
    def classes(self) -> list[str]:
        return self.get("class").split()

    def descendants(self) -> Iterator[HtmlElement | str]:
        """Yield everything inside in the order of the page."""
        pending = self.children[::-1]
        while pending:
            node = pending.pop()
            yield node
            if isinstance(node, HtmlElement):
                pending += reversed(node.children)

    def elements(self) -> Iterator[HtmlElement]:
        return (node for node in self.descendants() if isinstance(node, HtmlElement))

    def text(self, limit: int | None = None) -> str:
        """Return all text inside with single spaces; a `limit` applies to the nodes and to the characters of each."""
        nodes = islice(self.descendants(), limit)
        return " ".join("".join(node[:limit] for node in nodes if isinstance(node, str)).split())


def get_anchor(element: HtmlElement) -> str:
    """Return the fragment of a link to an element."""
    return element.get("id") or (element.get("name") if element.tag == "a" else "")


def is_permalink(element: HtmlElement) -> bool:
    """Whether an element is a symbol that links to its own place; a link with words is not."""
    if element.tag != "a" or not element.get("href").startswith("#"):
        return False
    nodes = list(islice(element.descendants(), _MAX_PERMALINK_NODES))
    words = "".join(node for node in nodes if isinstance(node, str)).strip()
    if len(nodes) == _MAX_PERMALINK_NODES or len(words) > _MAX_PERMALINK_NODES:
        return False
    is_named = bool(_PERMALINK_CLASSES.intersection(element.classes))
    return not _WORD.search(words) and (not words or words in _PERMALINK_SYMBOLS or is_named)


def parse_integer(text: str, default: int) -> int:
    return int(text) if re.fullmatch(r"-?[0-9]{1,6}", text) else default


def is_data_table(table: HtmlElement) -> bool:
    """Whether a table contains data; other tables lay out a page."""
    if table.get("role") in ("presentation", "none") or _LAYOUT_TABLE_CLASSES.intersection(table.classes):
        return False
    layout_tags = ("table", *HEADING_LEVELS)
    return not any(element.tag in layout_tags for element in table.elements())


def is_header_row(row: HtmlElement) -> bool:
    """Whether all cells of a row name columns."""
    cells = [cell.tag for cell in row.children if isinstance(cell, HtmlElement)]
    return bool(cells) and set(cells) == {"th"}


def find_language(element: HtmlElement) -> str:
    """Return the language that the classes of a code block, or of the code in it, name."""
    inner = [child for child in element.children if isinstance(child, HtmlElement) and child.tag == "code"]
    for each in (element, *inner) if element.tag in ("pre", "div") else ():
        found = (match[1] for match in map(_LANGUAGE_CLASS.fullmatch, each.classes) if match)
        if language := next((name for name in found if name not in ("text", "none", "default")), ""):
            return language.lower()
    return ""


def find_variant(element: HtmlElement) -> str:
    """Return the type of an admonition that its classes name."""
    names = (match[1].lower() for match in map(_VARIANT_CLASS.fullmatch, element.classes) if match)
    return next((name for name in names if name in _VARIANTS), element.tag if element.tag == "details" else "")


def extract_code(element: HtmlElement) -> str:
    """Return the lines of a code block without the blank lines around them."""
    parts: list[str] = []
    pending: list[HtmlElement | str | Callable[[], None]] = [*reversed(element.children)]

    def end_line() -> None:
        if parts and not parts[-1].endswith("\n"):
            parts.append("\n")

    while pending:
        node = pending.pop()
        if isinstance(node, str):
            parts += [node] if node else []
        elif not isinstance(node, HtmlElement):
            node()
        elif node.tag == "br":
            parts.append("\n")
        elif node.tag in _LINE_TAGS:
            end_line()
            # An element without text is an empty line.
            pending.append(end_line if node.children else "\n")
            pending += reversed(node.children)
        else:
            pending += reversed(node.children)
    lines = normalize_newlines("".join(parts)).rstrip().split("\n")
    return "\n".join(dropwhile(lambda line: not line.strip(), lines))


class HtmlFormula(NamedTuple):
    """A formula's source, and whether it is a block."""

    text: str
    is_block: bool


def find_formula(element: HtmlElement) -> HtmlFormula | None:
    """Return the formula that an element shows, if any."""
    if element.tag == "math":
        return HtmlFormula(_find_tex(element), element.get("display") == "block")
    if element.tag == "script":
        return HtmlFormula(_join_text(element), "mode=display" in element.get("type"))
    if not _FORMULA_CLASSES.intersection(element.classes):
        return None
    if element.tag == "img":
        return HtmlFormula(element.get("alt"), False)
    if any(isinstance(node, HtmlElement) and "eqno" not in node.classes for node in element.children):
        return None
    return _strip_delimiters(_join_text(element), element.tag)


def _find_tex(math: HtmlElement) -> str:
    """Return the TeX source of MathML, else its text."""
    for element in math.elements():
        if element.tag == "annotation" and "tex" in element.get("encoding").lower():
            return _join_text(element)
    return math.get("alttext") or math.text()


def _strip_delimiters(text: str, tag: str) -> HtmlFormula:
    match = _DELIMITED_FORMULA.fullmatch(text)
    if not match:
        return HtmlFormula(text.strip(), tag in ("div", "p"))
    inner = match["block"] or match["inline"] or match["dollars"] or ""
    number = f" {match['number']}" if match["number"] else ""
    return HtmlFormula(inner.strip() + number, match["inline"] is None)


def _join_text(element: HtmlElement) -> str:
    return "".join(node for node in element.descendants() if isinstance(node, str)).strip()
