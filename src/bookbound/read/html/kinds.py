"""What the elements of a page of HTML stand for."""

from __future__ import annotations

import re
from itertools import islice

from bookbound.read.html.tree import Element

HEADINGS = {f"h{level}": level for level in range(1, 7)}
LISTS = frozenset(("ul", "ol", "menu", "dir"))
BLOCKS = LISTS | frozenset(
    "address article aside blockquote body button caption center dd details dialog div dl dt fieldset figcaption figure"
    " footer form header hgroup hr label legend li main nav p pre section summary table tbody td tfoot th thead tr"
    " h1 h2 h3 h4 h5 h6".split()
)
ADMONITIONS = frozenset(
    "admonition theme-admonition alert markdown-alert callout hint book-hint custom-block blockquote-tag".split()
)
_LAID_OUT = frozenset("highlighttable rouge-table lntable codehilitetable".split())
_PERMALINKS = frozenset(
    "headerlink hash-link anchorjs-link permalink td-heading-self-link heading-anchor header-anchor anchor".split()
)
# A mark is short, and links that stand in each other are not looked through again and again.
_FEW = 100
_WORD = re.compile(r"\w")
_MARKS = frozenset(("#", "\u00b6", "\u00a7", "\u200b", "\U0001f517", "\u2693"))


def anchor_name(element: Element) -> str:
    """What a link to an element calls it."""
    return element.get("id") or (element.get("name") if element.tag == "a" else "")


def is_permalink(element: Element) -> bool:
    """Whether an element is a mark that links to its own place; a link with words is none."""
    if element.tag != "a" or not element.get("href").startswith("#"):
        return False
    inside = list(islice(element.inside(), _FEW))
    words = "".join(node for node in inside if isinstance(node, str)).strip()
    if len(inside) == _FEW or len(words) > _FEW:
        return False
    return not _WORD.search(words) and (not words or words in _MARKS or bool(_PERMALINKS.intersection(element.classes)))


def counted(text: str, default: int) -> int:
    """The number that an attribute gives, or the default."""
    return int(text) if re.fullmatch(r"-?[0-9]{1,6}", text) else default


def is_data(table: Element) -> bool:
    """Whether a table holds cells; others lay a page out."""
    if table.get("role") in ("presentation", "none") or _LAID_OUT.intersection(table.classes):
        return False
    laid_out = ("table", *HEADINGS)
    return not any(isinstance(node, Element) and node.tag in laid_out for node in table.inside())
