"""Parses an EPUB's XHTML documents and its table of contents."""

from __future__ import annotations

import posixpath
import re
from bisect import bisect_left
from collections.abc import Collection, Iterator
from html import escape
from itertools import islice
from typing import NamedTuple
from urllib.parse import unquote
from xml.etree import ElementTree

from bookbound.domain.document import Block, SourceSpan
from bookbound.sources.decoding import decode_xhtml
from bookbound.sources.defusedxml import find_elements, local_name, parse_xml
from bookbound.sources.html import render_element
from bookbound.sources.html.elements import VOID_TAGS, HtmlElement
from bookbound.sources.html.main_content import HIDDEN_SELECTOR
from bookbound.sources.html.selectolax import HtmlDocument
from bookbound.sources.page_builder import RenderedPage
from bookbound.sources.table_of_contents import strip_root

MAX_TOC_DEPTH, MAX_TOC_ENTRIES = 12, 50_000


class EpubTocEntry(NamedTuple):
    """A line of the table of contents, how deep it stands, and the document and place in it that it leads to."""

    depth: int
    label: str
    name: str
    fragment: str


class EpubToc(NamedTuple):
    """What leads to the chapters of an EPUB, and to its printed pages."""

    entries: tuple[EpubTocEntry, ...] = ()
    pages: tuple[EpubTocEntry, ...] = ()


def parse_nav(html: str, name: str) -> EpubToc:
    """The contents as EPUB 3 writes them: lists of links in a page of their own."""
    body = HtmlDocument(html).first(("body",))
    navs = [node for node in (body.inside() if body else ()) if isinstance(node, HtmlElement) and node.tag == "nav"]
    lists = {kind: nav for nav in reversed(navs) for kind in (epub_types(nav) or {"toc"})}
    read = {kind: tuple(_walk_nav_list(nav, name)) for kind, nav in lists.items() if kind in ("toc", "page-list")}
    return EpubToc(strip_root(read.get("toc", ())), read.get("page-list", ()))


def parse_ncx(data: bytes, name: str) -> EpubToc:
    """The contents as EPUB 2 writes them: points within points."""
    root = parse_xml(data)
    tops = [next(find_elements(root, top), None) for top in ("navMap", "pageList")]
    return EpubToc(strip_root(tuple(_walk_ncx_points(tops[0], name))), tuple(_walk_ncx_points(tops[1], name)))


def epub_types(element: HtmlElement) -> frozenset[str]:
    """What an EPUB says that an element is."""
    roles = element.get("role").removeprefix("doc-")
    return frozenset(f"{element.get('epub:type')} {roles}".lower().split())


def _walk_nav_list(nav: HtmlElement, name: str) -> Iterator[EpubTocEntry]:
    waiting = [(child, 0) for child in reversed(nav.children) if isinstance(child, HtmlElement)]
    for _ in range(MAX_TOC_ENTRIES):
        if not waiting:
            return
        element, depth = waiting.pop()
        inner = [child for child in element.children if isinstance(child, HtmlElement)]
        if element.tag == "li":
            label = next((child for child in inner if child.tag in ("a", "span")), None)
            if label is not None:
                yield _build_entry(depth - 1, label.words(), label.get("href"), name)
            inner = [child for child in inner if child is not label]
        deeper = depth + (element.tag == "ol")
        if element.tag in ("ol", "ul", "li", "div", "section") and deeper <= MAX_TOC_DEPTH:
            waiting += [(child, deeper) for child in reversed(inner)]


def _walk_ncx_points(top: ElementTree.Element | None, name: str) -> Iterator[EpubTocEntry]:
    waiting = [(child, 0) for child in reversed(top if top is not None else ())]
    for _ in range(MAX_TOC_ENTRIES):
        if not waiting:
            return
        point, depth = waiting.pop()
        if local_name(point) not in ("navPoint", "pageTarget"):
            continue
        parts = {local_name(child): child for child in reversed(point)}
        label = " ".join("".join(parts["navLabel"].itertext()).split()) if "navLabel" in parts else ""
        yield _build_entry(depth, label, parts["content"].get("src", "") if "content" in parts else "", name)
        if depth < MAX_TOC_DEPTH:
            waiting += [(child, depth + 1) for child in reversed(point)]


def _build_entry(depth: int, label: str, href: str, name: str) -> EpubTocEntry:
    path, _, fragment = href.partition("#")
    target = posixpath.normpath(posixpath.join(posixpath.dirname(name), unquote(path))) if path else ""
    return EpubTocEntry(max(depth, 0), label[:1_000], target or (name if fragment else ""), unquote(fragment))


SKIPPED_TYPES = frozenset(("cover", "titlepage", "halftitlepage", "toc", "landmarks", "page-list", "loi", "lot"))
"""What a document may say that it is, and then holds no words of the book's own."""
_MIN_LINKS, _MIN_LINKED_SHARE = 4, 0.8
_PROLOGUE = re.compile(
    r"(?:\s++|\ufeff|<\?[^>]*+>|<!--.*?-->)*+"
    r"(?:<!DOCTYPE[^\[>]*+(?:\[(?:[^\]\"']++|\"[^\"]*+\"|'[^']*+')*+\]\s*+)?>)?",
    re.IGNORECASE | re.DOTALL,
)
_CDATA = re.compile(r"<!\[CDATA\[(.*?)(?:\]\]>|\Z)", re.DOTALL)
_SELF_CLOSING = re.compile(r"<([A-Za-z][\w:.-]*+)((?:[^<>\"'/]++|\"[^\"]*+\"|'[^']*+'|/(?!>))*+)/>")
# Characters that no text has: each stands for a place while the text is set.
_FIRST_MARKER, _MAX_MARKERS, _MAX_NOTE_NODES = 0x100000, 60_000, 10
_MARKER = re.compile("[\U00100000-\U0010fffd]")
_NO_WORD = re.compile(r"[\W\d_]*")


class PrintedPageBreak(NamedTuple):
    """Where a printed page begins."""

    label: str


class EpubDocument(NamedTuple):
    """A document as it is set, and where in it the wanted places are and printed pages begin."""

    setting: RenderedPage
    places: dict[str, int]
    breaks: list[tuple[int, str]]
    kinds: frozenset[str] = frozenset()
    lists: bool = False
    title: str = ""


def xhtml_to_html(data: bytes) -> str:
    """The text of a document as a parser of HTML takes it: what XML closes in one tag is closed by two."""
    text = _PROLOGUE.sub("", _MARKER.sub("", decode_xhtml(data)), count=1)
    text = _CDATA.sub(lambda part: escape(part[1], quote=False), text)
    return _SELF_CLOSING.sub(
        lambda tag: tag[0] if tag[1].lower() in VOID_TAGS else f"<{tag[1]}{tag[2]}></{tag[1]}>", text
    )


def parse_document(html: str, wanted: Collection[str]) -> EpubDocument | None:
    """The words of a document, with the places of the wanted ids; nothing where it is built to choke a parser."""
    document = HtmlDocument(html)
    body = document.first(("body",), HIDDEN_SELECTOR)
    if document.refused or body is None:
        return None
    only = [child for child in body.children if isinstance(child, HtmlElement) and child.words()]
    says = epub_types(body) | (epub_types(only[0]) if len(only) == 1 else frozenset())
    title = document.first(("title",))
    lists = _is_list_of_links(body)
    marks = _insert_markers(body, wanted)
    setting, found = _remove_markers(render_element(body))
    places: dict[str, int] = {}
    breaks: list[tuple[int, str]] = []
    last = max(found, default=-1)
    for number, mark in enumerate(marks):
        at = found.get(number, len(setting.text) if number > last else -1)
        if isinstance(mark, PrintedPageBreak):
            breaks += [(at, mark.label)] if at >= 0 else []
        elif at >= 0:
            places.setdefault(mark, at)
    return EpubDocument(setting, places, breaks, says, lists, title.words() if title else "")


def _insert_markers(body: HtmlElement, wanted: Collection[str]) -> list[str | PrintedPageBreak]:
    """Put a mark before the first words of each place, and take away what is no word of the book."""
    marks: list[str | PrintedPageBreak] = []
    placed = 0
    waiting = [(body, i) for i in reversed(range(len(body.children)))]
    while waiting:
        parent, i = waiting.pop()
        node = parent.children[i]
        if isinstance(node, str):
            words = node.lstrip()
            if words and placed < len(marks):
                signs = "".join(chr(_FIRST_MARKER + number) for number in range(placed, len(marks)))
                parent.children[i] = node[: len(node) - len(words)] + signs + words
                placed = len(marks)
            continue
        says = epub_types(node)
        if len(marks) < _MAX_MARKERS:
            marks += [name for name in (node.get("id"), node.get("name")) if name and name in wanted]
            if "pagebreak" in says:
                marks.append(PrintedPageBreak(node.get("title") or node.get("aria-label") or node.words()))
        unseen = says & {"pagebreak", "landmarks", "page-list"} or (node.tag == "nav" and "toc" in says)
        if unseen or (says & {"noteref", "backlink"} and _is_note_number(node)):
            node.children = []
        waiting += [(node, at) for at in reversed(range(len(node.children)))]
    return marks


def _is_note_number(element: HtmlElement) -> bool:
    """Whether an element is short and says nothing: the number of a note."""
    inside = list(islice(element.inside(), _MAX_NOTE_NODES))
    return len(inside) < _MAX_NOTE_NODES and all(_NO_WORD.fullmatch(node) for node in inside if isinstance(node, str))


def _remove_markers(setting: RenderedPage) -> tuple[RenderedPage, dict[int, int]]:
    """The text without its marks, and where each was."""
    starts = [found.start() for found in _MARKER.finditer(setting.text)]
    found = {ord(setting.text[start]) - _FIRST_MARKER: start - i for i, start in enumerate(starts)}
    text = _MARKER.sub("", setting.text)
    runs = (SourceSpan(0, len(text), 0, len(text)),) if text else ()
    return RenderedPage(text, runs, tuple(_close_marker_gaps(block, starts) for block in setting.blocks)), found


def _close_marker_gaps(block: Block, starts: list[int]) -> Block:
    start, end = (at - bisect_left(starts, at) for at in (block.start, block.end))
    children = tuple(_close_marker_gaps(child, starts) for child in block.children)
    return Block(block.kind, start, end, block.level, block.anchor, children)


def _is_list_of_links(body: HtmlElement) -> bool:
    """Whether a page is hardly anything but links to other pages of the book."""
    whole = linked = links = 0
    waiting: list[tuple[HtmlElement | str, bool]] = [(body, False)]
    while waiting:
        node, inside = waiting.pop()
        if isinstance(node, str):
            letters = sum(map(str.isalpha, node))
            whole, linked = whole + letters, linked + letters * inside
            continue
        leads = node.tag == "a" and "href" in node.attributes and "://" not in node.get("href")
        links += leads
        waiting += [(child, inside or leads) for child in node.children]
    return links >= _MIN_LINKS and linked > _MIN_LINKED_SHARE * whole
