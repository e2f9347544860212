"""Defines the HTML element tree and recognises headings, permalinks, tables, code and formulas in it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import islice
from typing import NamedTuple

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
_LAYOUT_TABLE_CLASSES = frozenset("highlighttable rouge-table lntable codehilitetable".split())
_PERMALINK_CLASSES = frozenset(
    "headerlink hash-link anchorjs-link permalink td-heading-self-link heading-anchor header-anchor anchor".split()
)
# A mark is short, and links that stand in each other are not looked through again and again.
_MAX_PERMALINK_NODES = 100
_WORD = re.compile(r"\w")
_PERMALINK_SYMBOLS = frozenset(("#", "\u00b6", "\u00a7", "\u200b", "\U0001f517", "\u2693"))


def get_anchor(element: HtmlElement) -> str:
    """What a link to an element calls it."""
    return element.get("id") or (element.get("name") if element.tag == "a" else "")


def is_permalink(element: HtmlElement) -> bool:
    """Whether an element is a mark that links to its own place; a link with words is none."""
    if element.tag != "a" or not element.get("href").startswith("#"):
        return False
    inside = list(islice(element.inside(), _MAX_PERMALINK_NODES))
    words = "".join(node for node in inside if isinstance(node, str)).strip()
    if len(inside) == _MAX_PERMALINK_NODES or len(words) > _MAX_PERMALINK_NODES:
        return False
    return not _WORD.search(words) and (
        not words or words in _PERMALINK_SYMBOLS or bool(_PERMALINK_CLASSES.intersection(element.classes))
    )


def parse_integer(text: str, default: int) -> int:
    """The number that an attribute gives, or the default."""
    return int(text) if re.fullmatch(r"-?[0-9]{1,6}", text) else default


def is_data_table(table: HtmlElement) -> bool:
    """Whether a table holds cells; others lay a page out."""
    if table.get("role") in ("presentation", "none") or _LAYOUT_TABLE_CLASSES.intersection(table.classes):
        return False
    laid_out = ("table", *HEADING_LEVELS)
    return not any(isinstance(node, HtmlElement) and node.tag in laid_out for node in table.inside())


_LINE_TAGS = frozenset(("div", "p", "li", "ol", "ul", "tr", "table", "pre"))


def extract_code(element: HtmlElement) -> str:
    """The lines of a block of code, without the blank ones around them."""
    parts: list[str] = []
    waiting: list[HtmlElement | str | Callable[[], None]] = [*reversed(element.children)]

    def end_line() -> None:
        if parts and not parts[-1].endswith("\n"):
            parts.append("\n")

    while waiting:
        node = waiting.pop()
        if isinstance(node, str):
            parts += [node] if node else []
        elif not isinstance(node, HtmlElement):
            node()
        elif node.tag == "br":
            parts.append("\n")
        elif node.tag in _LINE_TAGS:
            end_line()
            # An element without words stands for an empty line.
            waiting.append(end_line if node.children else "\n")
            waiting += reversed(node.children)
        else:
            waiting += reversed(node.children)
    lines = "".join(parts).replace("\r\n", "\n").replace("\r", "\n").rstrip().split("\n")
    while lines and not lines[0].strip():
        lines.pop(0)
    return "\n".join(lines)


_DELIMITED_FORMULA = re.compile(
    r"\s*+(?P<number>\([\w.-]{1,20}\))?\s*+(?:\\\[(?P<block>.*)\\\]|\\\((?P<inline>.*)\\\)|\$\$(?P<dollars>.*)\$\$)\s*+",
    re.DOTALL,
)
_FORMULA_CLASSES = frozenset(("math", "arithmatex"))


class HtmlFormula(NamedTuple):
    """A formula's source, and whether it stands in a line of its own."""

    text: str
    stands_alone: bool


def find_formula(element: HtmlElement) -> HtmlFormula | None:
    """The formula that an element shows, if it shows one."""
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
    """The TeX that MathML was made from; else its own words."""
    for node in math.inside():
        if isinstance(node, HtmlElement) and node.tag == "annotation" and "tex" in node.get("encoding").lower():
            return _join_text(node)
    return math.get("alttext") or math.words()


def _strip_delimiters(text: str, tag: str) -> HtmlFormula:
    found = _DELIMITED_FORMULA.fullmatch(text)
    if not found:
        return HtmlFormula(text.strip(), tag in ("div", "p"))
    inner = found["block"] or found["inline"] or found["dollars"] or ""
    number = f" {found['number']}" if found["number"] else ""
    return HtmlFormula(inner.strip() + number, found["inline"] is None)


def _join_text(element: HtmlElement) -> str:
    return "".join(node for node in element.inside() if isinstance(node, str)).strip()


VOID_TAGS = frozenset("area base br col embed hr img input link meta param source track wbr".split())
"""The elements that hold nothing and are never closed."""


@dataclass(slots=True, eq=False)
class HtmlElement:
    """One element: its name, its attributes, and in order the words and elements inside it."""

    tag: str
    attributes: dict[str, str | None] = field(default_factory=dict)
    children: list[HtmlElement | str] = field(default_factory=list)

    def get(self, name: str) -> str:
        return self.attributes.get(name) or ""

    @property
    def classes(self) -> list[str]:
        return self.get("class").split()

    def inside(self) -> Iterator[HtmlElement | str]:
        """Everything inside, in the order of the page."""
        waiting = self.children[::-1]
        while waiting:
            node = waiting.pop()
            yield node
            if isinstance(node, HtmlElement):
                waiting += reversed(node.children)

    def words(self, most: int | None = None) -> str:
        """All words inside, white space as one space; or those within the first `most` nodes and characters of each."""
        inside = islice(self.inside(), most)
        return " ".join("".join(node[:most] for node in inside if isinstance(node, str)).split())
