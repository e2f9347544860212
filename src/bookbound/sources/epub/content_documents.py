"""Parses an EPUB's XHTML documents and its table of contents."""

from __future__ import annotations

import posixpath
import re
from bisect import bisect_left
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import replace
from html import escape
from itertools import islice
from typing import NamedTuple
from urllib.parse import unquote

from bookbound.domain.document import Block, MarkupSpan
from bookbound.sources.decoding import decode_xhtml
from bookbound.sources.html import render_element
from bookbound.sources.html.elements import VOID_TAGS, HtmlElement
from bookbound.sources.html.main_content import HIDDEN_SELECTOR
from bookbound.sources.html.selectolax import HtmlDocument
from bookbound.sources.page_builder import RenderedPage, make_whole_span
from bookbound.sources.table_of_contents import strip_root

MAX_TOC_DEPTH = 12
MAX_TOC_ENTRIES = 50_000
MAX_LABEL_CHARS = 1_000
_NCX_LISTS = {"navmap": "toc", "pagelist": "page-list"}
_ENTRY_TAGS = ("li", "navpoint", "pagetarget")
_LABEL_TAGS = ("a", "span", "navlabel")
_NESTING_TAGS = (*_ENTRY_TAGS, "ol", "ul", "div", "section")
_MIN_LINKS = 4
_MIN_LINKED_SHARE = 0.8
_MAX_NOTE_NODES = 10
# A private character marks each wanted position while a document is rendered.
_FIRST_MARKER = 0x100000
_MAX_MARKERS = 60_000
_MARKER = re.compile("[\U00100000-\U0010fffd]")
_PROLOGUE = re.compile(
    r"(?:\s++|\ufeff|<\?[^>]*+>|<!--.*?-->)*+"
    r"(?:<!DOCTYPE[^\[>]*+(?:\[(?:[^\]\"']++|\"[^\"]*+\"|'[^']*+')*+\]\s*+)?>)?",
    re.IGNORECASE | re.DOTALL,
)
_CDATA = re.compile(r"<!\[CDATA\[(.*?)(?:\]\]>|\Z)", re.DOTALL)
_SELF_CLOSING = re.compile(r"<([A-Za-z][\w:.-]*+)((?:[^<>\"'/]++|\"[^\"]*+\"|'[^']*+'|/(?!>))*+)/>")
_NO_WORD = re.compile(r"[\W\d_]*")


class EpubTocEntry(NamedTuple):
    """An entry of the table of contents, and the document and element id that it links to."""

    depth: int
    label: str
    name: str
    fragment: str


class EpubToc(NamedTuple):
    """Links to the chapters of an EPUB and to its printed pages."""

    entries: tuple[EpubTocEntry, ...] = ()
    pages: tuple[EpubTocEntry, ...] = ()


class EpubDocument(NamedTuple):
    """A rendered document, the offsets of the wanted ids and those of printed page breaks."""

    rendered: RenderedPage
    offsets: dict[str, int]
    breaks: dict[int, str]
    types: frozenset[str]
    is_list_of_links: bool
    title: str


class _PageBreakMarker(NamedTuple):
    label: str


def parse_epub_toc(html: str, name: str) -> EpubToc:
    """Parse the lists of links of EPUB 3 or the nested navigation points of EPUB 2."""
    body = HtmlDocument(html).select_first(("body",))
    elements = [node for node in (body.descendants() if body else ()) if isinstance(node, HtmlElement)]
    lists: dict[str, HtmlElement] = {}
    for element in reversed(elements):
        if element.tag == "nav":
            lists |= dict.fromkeys(epub_types(element) or {"toc"}, element)
        elif _local_tag(element) in _NCX_LISTS:
            lists[_NCX_LISTS[_local_tag(element)]] = element
    toc, pages = (tuple(_walk_entries(lists[kind], name)) if kind in lists else () for kind in ("toc", "page-list"))
    return EpubToc(strip_root(toc), pages)


def epub_types(element: HtmlElement) -> frozenset[str]:
    role = element.get("role").removeprefix("doc-")
    return frozenset(f"{element.get('epub:type')} {role}".lower().split())


def _walk_entries(top: HtmlElement, name: str) -> Iterator[EpubTocEntry]:
    stack = [(top, 0)]
    for _ in range(MAX_TOC_ENTRIES):
        if not stack:
            return
        element, depth = stack.pop()
        children = [child for child in element.children if isinstance(child, HtmlElement)]
        if _local_tag(element) in _ENTRY_TAGS:
            label = next((child for child in children if _local_tag(child) in _LABEL_TAGS), None)
            if label is not None:
                content = next((child for child in children if _local_tag(child) == "content"), None)
                href = content.get("src") if content else label.get("href")
                yield _build_entry(depth, label.text(), href, name)
            children = [child for child in children if child is not label]
            depth += 1
        if depth <= MAX_TOC_DEPTH:
            stack += [(child, depth) for child in reversed(children) if _local_tag(child) in _NESTING_TAGS]


def _local_tag(element: HtmlElement) -> str:
    """Return an element's name without its namespace prefix."""
    return element.tag.rpartition(":")[2]


def _build_entry(depth: int, label: str, href: str, name: str) -> EpubTocEntry:
    path, _, fragment = href.partition("#")
    target = posixpath.normpath(posixpath.join(posixpath.dirname(name), unquote(path))) if path else ""
    target = target or (name if fragment else "")
    return EpubTocEntry(depth, label[:MAX_LABEL_CHARS], target, unquote(fragment))


def xhtml_to_html(data: bytes) -> str:
    """Decode a document for an HTML parser, which does not know self-closing tags and CDATA."""
    text = _PROLOGUE.sub("", _MARKER.sub("", decode_xhtml(data)), count=1)
    text = _CDATA.sub(lambda part: escape(part[1], quote=False), text)

    def close(tag: re.Match[str]) -> str:
        return tag[0] if tag[1].lower() in VOID_TAGS else f"<{tag[1]}{tag[2]}></{tag[1]}>"

    return _SELF_CLOSING.sub(close, text)


def parse_document(html: str, wanted_ids: Collection[str]) -> EpubDocument | None:
    """Render a document and find the offsets of the wanted ids; None if it would cost too much to parse."""
    document = HtmlDocument(html)
    body = document.select_first(("body",), HIDDEN_SELECTOR)
    if document.is_too_costly or body is None:
        return None
    filled = [child for child in body.children if isinstance(child, HtmlElement) and child.text()]
    types = epub_types(body) | (epub_types(filled[0]) if len(filled) == 1 else frozenset())
    title = document.select_first(("title",))
    is_list_of_links = _is_list_of_links(body)
    markers = _insert_markers(body, wanted_ids)
    rendered, found = _remove_markers(render_element(body))
    offsets: dict[str, int] = {}
    breaks: dict[int, str] = {}
    last = max(found, default=-1)
    # A marker without words after it belongs to the end; one that was hidden with its words has no place.
    for number, marker in enumerate(markers):
        if number not in found and number < last:
            continue
        at = found.get(number, len(rendered.text))
        if isinstance(marker, _PageBreakMarker):
            breaks[at] = marker.label
        else:
            offsets.setdefault(marker, at)
    return EpubDocument(rendered, offsets, breaks, types, is_list_of_links, title.text() if title else "")


def _insert_markers(body: HtmlElement, wanted_ids: Collection[str]) -> list[str | _PageBreakMarker]:
    """Put a marker before the first words at each wanted id and page break, and remove what is not the book's text."""
    markers: list[str | _PageBreakMarker] = []
    inserted = 0
    stack = [(body, i) for i in reversed(range(len(body.children)))]
    while stack:
        parent, i = stack.pop()
        node = parent.children[i]
        if isinstance(node, str):
            words = node.lstrip()
            if words and inserted < len(markers):
                characters = "".join(chr(_FIRST_MARKER + number) for number in range(inserted, len(markers)))
                parent.children[i] = node[: len(node) - len(words)] + characters + words
                inserted = len(markers)
            continue
        types = epub_types(node)
        if len(markers) < _MAX_MARKERS:
            markers += [name for name in (node.get("id"), node.get("name")) if name and name in wanted_ids]
            if "pagebreak" in types:
                markers.append(_PageBreakMarker(node.get("title") or node.get("aria-label") or node.text()))
        is_hidden = types & {"pagebreak", "landmarks", "page-list"} or (node.tag == "nav" and "toc" in types)
        if is_hidden or (types & {"noteref", "backlink"} and _is_note_number(node)):
            node.children = []
        stack += [(node, at) for at in reversed(range(len(node.children)))]
    return markers


def _is_note_number(element: HtmlElement) -> bool:
    nodes = list(islice(element.descendants(), _MAX_NOTE_NODES))
    return len(nodes) < _MAX_NOTE_NODES and all(_NO_WORD.fullmatch(node) for node in nodes if isinstance(node, str))


def _remove_markers(rendered: RenderedPage) -> tuple[RenderedPage, dict[int, int]]:
    """Return the page without its markers, and the offset of each."""
    starts = [match.start() for match in _MARKER.finditer(rendered.text)]
    offsets = {ord(rendered.text[start]) - _FIRST_MARKER: start - i for i, start in enumerate(starts)}
    text = _MARKER.sub("", rendered.text)
    blocks = tuple(map_block_offsets(block, lambda at: at - bisect_left(starts, at)) for block in rendered.blocks)
    markup = move_markup(rendered.markup, lambda at: at - bisect_left(starts, at))
    return RenderedPage(text, make_whole_span(len(text)), blocks, markup), offsets


def move_markup(markup: Iterable[MarkupSpan], move: Callable[[int], int]) -> tuple[MarkupSpan, ...]:
    moved = (span._replace(start=move(span.start), end=move(span.end)) for span in markup)
    return tuple(span for span in moved if span.start < span.end)


def map_block_offsets(block: Block, move: Callable[[int], int]) -> Block:
    children = tuple(map_block_offsets(child, move) for child in block.children)
    return replace(block, start=move(block.start), end=move(block.end), children=children)


def _is_list_of_links(body: HtmlElement) -> bool:
    """Whether a page is mostly links to other pages of the book."""
    letters = linked = links = 0
    stack: list[tuple[HtmlElement | str, bool]] = [(body, False)]
    while stack:
        node, is_linked = stack.pop()
        if isinstance(node, str):
            count = sum(map(str.isalpha, node))
            letters, linked = letters + count, linked + count * is_linked
            continue
        is_link = node.tag == "a" and "href" in node.attributes and "://" not in node.get("href")
        links += is_link
        stack += [(child, is_linked or is_link) for child in node.children]
    return links >= _MIN_LINKS and linked > _MIN_LINKED_SHARE * letters
