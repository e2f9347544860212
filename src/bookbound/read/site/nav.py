"""What the navigation of a page lists: the book's pages in their order, each with its chapter."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from bookbound.read.html.address import resolved
from bookbound.read.html.main import UNSEEN
from bookbound.read.html.selectolax import Document
from bookbound.read.html.tree import Element

MOST_ENTRIES = 20_000
# No entry says more; entries may stand in each other, and are not to be read through again and again.
_FEW = 300

_LISTED = (
    ".theme-doc-sidebar-menu",
    "nav.md-nav--primary",
    "ol.chapter",
    ".wy-menu-vertical",
    ".sidebar-tree",
    "nav.bd-docs-nav",
    ".sphinxsidebarwrapper",
    "ul.navbar-nav",
    ".book-menu",
    "#td-section-nav",
    ".VPSidebar",
    ".sidebar-links",
    ".nav-menu",
)
_NOT_LISTED = f"{UNSEEN}, .md-nav--secondary, .relations, .toc, [role=search], [aria-label='Table of contents']"
_GROUPS = frozenset(("ul", "ol", "nav"))
_LABELS = frozenset(("a", "label", "button", "summary"))
_NAMES = frozenset(("p", "h2", "h3", "h4", "h5", "h6"))


class Entry(NamedTuple):
    """A page as the navigation lists it; its chapter is empty where the page is one of its own."""

    url: str
    chapter: str


class _Line(NamedTuple):
    """One link of the navigation: the part and the outermost entry it stands in."""

    part: str
    top: int
    url: str
    words: str


def entries(document: Document, url: str) -> tuple[Entry, ...]:
    """The pages that a page's navigation lists, in their order."""
    nav = document.first(_LISTED, _NOT_LISTED)
    if nav is None:
        navs = document.some("nav, [role=navigation]", _NOT_LISTED)
        nav = max(navs, key=lambda each: sum(1 for _ in _links(each)), default=None)
    return tuple(_entries(nav, url)) if nav else ()


def _entries(nav: Element, url: str) -> Iterator[Entry]:
    labels: list[str] = []
    lines = list(_lines(nav, url, labels))[:MOST_ENTRIES]
    pages: dict[int, set[str]] = {}
    for line in lines:
        pages.setdefault(line.top, set()).add(line.url)
    for line in lines:
        label = labels[line.top] if line.top >= 0 else ""
        alone = len(pages[line.top]) == 1 and line.words == label
        yield Entry(line.url, line.part if alone or not label else label)


def _lines(nav: Element, url: str, labels: list[str]) -> Iterator[_Line]:
    """The links in their order; the label of each outermost entry goes to `labels`."""
    part, top = "", -1
    waiting: list[tuple[Element, int]] = [(nav, 0)]
    while waiting:
        node, depth = waiting.pop()
        if node.tag == "li":
            depth += 1
            label = _label(node) if depth == 1 else ""
            if label and not any(True for _ in _links(node)):
                part = label
            elif label:
                labels.append(label)
                top = len(labels) - 1
        elif node.tag in _NAMES and not depth:
            part = node.words(_FEW)
        if node.tag == "a" and (target := _target(node, url)):
            yield _Line(part, top if depth else -1, target, node.words(_FEW))
        waiting += [(child, depth) for child in reversed(node.children) if isinstance(child, Element)]


def _label(item: Element) -> str:
    """The words of an entry before those inside it: its link's or label's, else what stands there."""
    words: list[str] = []
    waiting = item.children[::-1]
    while waiting:
        node = waiting.pop()
        if isinstance(node, str):
            words.append(node)
        elif node.tag in _GROUPS:
            break
        elif node.tag in _LABELS and (label := node.words(_FEW)):
            return label
        else:
            waiting += reversed(node.children)
    return " ".join("".join(words).split())


def _links(element: Element) -> Iterator[Element]:
    inside = (node for node in element.inside() if isinstance(node, Element))
    return (node for node in inside if node.tag == "a" and "href" in node.attributes)


def _target(link: Element, url: str) -> str:
    """The page that a link leads to; nothing for one within its page or out of the site."""
    href = link.get("href").strip()
    return "" if not href or href.startswith("#") else resolved(url, href)
