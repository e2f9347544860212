"""The table of contents of an EPUB, and its list of printed pages."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator
from typing import NamedTuple
from urllib.parse import unquote
from xml.etree import ElementTree

from bookbound.read.defusedxml import local, named, parse_xml
from bookbound.read.html.selectolax import Document
from bookbound.read.html.tree import Element
from bookbound.read.rootless import rootless

DEEPEST, MOST_ENTRIES = 12, 50_000


class Entry(NamedTuple):
    """A line of the table of contents, how deep it stands, and the document and place in it that it leads to."""

    depth: int
    label: str
    name: str
    fragment: str


class Contents(NamedTuple):
    """What leads to the chapters of an EPUB, and to its printed pages."""

    entries: tuple[Entry, ...] = ()
    pages: tuple[Entry, ...] = ()


def from_nav(html: str, name: str) -> Contents:
    """The contents as EPUB 3 writes them: lists of links in a page of their own."""
    body = Document(html).first(("body",))
    navs = [node for node in (body.inside() if body else ()) if isinstance(node, Element) and node.tag == "nav"]
    lists = {kind: nav for nav in reversed(navs) for kind in (kinds(nav) or {"toc"})}
    read = {kind: tuple(_listed(nav, name)) for kind, nav in lists.items() if kind in ("toc", "page-list")}
    return Contents(rootless(read.get("toc", ())), read.get("page-list", ()))


def from_ncx(data: bytes, name: str) -> Contents:
    """The contents as EPUB 2 writes them: points within points."""
    root = parse_xml(data)
    tops = [next(named(root, top), None) for top in ("navMap", "pageList")]
    return Contents(rootless(tuple(_points(tops[0], name))), tuple(_points(tops[1], name)))


def kinds(element: Element) -> frozenset[str]:
    """What an EPUB says that an element is."""
    roles = element.get("role").removeprefix("doc-")
    return frozenset(f"{element.get('epub:type')} {roles}".lower().split())


def _listed(nav: Element, name: str) -> Iterator[Entry]:
    waiting = [(child, 0) for child in reversed(nav.children) if isinstance(child, Element)]
    for _ in range(MOST_ENTRIES):
        if not waiting:
            return
        element, depth = waiting.pop()
        inner = [child for child in element.children if isinstance(child, Element)]
        if element.tag == "li":
            label = next((child for child in inner if child.tag in ("a", "span")), None)
            if label is not None:
                yield _entry(depth - 1, label.words(), label.get("href"), name)
            inner = [child for child in inner if child is not label]
        deeper = depth + (element.tag == "ol")
        if element.tag in ("ol", "ul", "li", "div", "section") and deeper <= DEEPEST:
            waiting += [(child, deeper) for child in reversed(inner)]


def _points(top: ElementTree.Element | None, name: str) -> Iterator[Entry]:
    waiting = [(child, 0) for child in reversed(top if top is not None else ())]
    for _ in range(MOST_ENTRIES):
        if not waiting:
            return
        point, depth = waiting.pop()
        if local(point) not in ("navPoint", "pageTarget"):
            continue
        parts = {local(child): child for child in reversed(point)}
        label = " ".join("".join(parts["navLabel"].itertext()).split()) if "navLabel" in parts else ""
        yield _entry(depth, label, parts["content"].get("src", "") if "content" in parts else "", name)
        if depth < DEEPEST:
            waiting += [(child, depth + 1) for child in reversed(point)]


def _entry(depth: int, label: str, href: str, name: str) -> Entry:
    path, _, fragment = href.partition("#")
    target = posixpath.normpath(posixpath.join(posixpath.dirname(name), unquote(path))) if path else ""
    return Entry(max(depth, 0), label[:1_000], target or (name if fragment else ""), unquote(fragment))
