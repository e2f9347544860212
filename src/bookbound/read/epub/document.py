"""A document of an EPUB becomes visible text, with the places in it that the contents lead to."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Collection
from html import escape
from itertools import islice
from typing import NamedTuple

from bookbound.book import Block, Run
from bookbound.read.epub.contents import kinds
from bookbound.read.galley import Setting
from bookbound.read.html import typeset_element
from bookbound.read.html.charset import xhtml_text
from bookbound.read.html.main import UNSEEN
from bookbound.read.html.selectolax import Document
from bookbound.read.html.tree import VOID, Element

LEFT_OUT = frozenset(("cover", "titlepage", "halftitlepage", "toc", "landmarks", "page-list", "loi", "lot"))
"""What a document may say that it is, and then holds no words of the book's own."""
_FEWEST_LINKS, _MOSTLY = 4, 0.8
_PROLOGUE = re.compile(
    r"(?:\s++|\ufeff|<\?[^>]*+>|<!--.*?-->)*+"
    r"(?:<!DOCTYPE[^\[>]*+(?:\[(?:[^\]\"']++|\"[^\"]*+\"|'[^']*+')*+\]\s*+)?>)?",
    re.IGNORECASE | re.DOTALL,
)
_VERBATIM = re.compile(r"<!\[CDATA\[(.*?)(?:\]\]>|\Z)", re.DOTALL)
_CLOSED = re.compile(r"<([A-Za-z][\w:.-]*+)((?:[^<>\"'/]++|\"[^\"]*+\"|'[^']*+'|/(?!>))*+)/>")
# Characters that no text has: each stands for a place while the text is set.
_FIRST_MARK, _MOST_MARKS, _FEW = 0x100000, 60_000, 10
_MARK = re.compile("[\U00100000-\U0010fffd]")
_NO_WORD = re.compile(r"[\W\d_]*")


class Break(NamedTuple):
    """Where a printed page begins."""

    label: str


class Text(NamedTuple):
    """A document as it is set, and where in it the wanted places are and printed pages begin."""

    setting: Setting
    places: dict[str, int]
    breaks: list[tuple[int, str]]
    kinds: frozenset[str] = frozenset()
    lists: bool = False
    title: str = ""


def xhtml(data: bytes) -> str:
    """The text of a document as a parser of HTML takes it: what XML closes in one tag is closed by two."""
    text = _PROLOGUE.sub("", _MARK.sub("", xhtml_text(data)), count=1)
    text = _VERBATIM.sub(lambda part: escape(part[1], quote=False), text)
    return _CLOSED.sub(lambda tag: tag[0] if tag[1].lower() in VOID else f"<{tag[1]}{tag[2]}></{tag[1]}>", text)


def read_document(html: str, wanted: Collection[str]) -> Text | None:
    """The words of a document, with the places of the wanted ids; nothing where it is built to choke a parser."""
    document = Document(html)
    body = document.first(("body",), UNSEEN)
    if document.refused or body is None:
        return None
    only = [child for child in body.children if isinstance(child, Element) and child.words()]
    says = kinds(body) | (kinds(only[0]) if len(only) == 1 else frozenset())
    title = document.first(("title",))
    lists = _is_list_of_links(body)
    marks = _marked(body, wanted)
    setting, found = _unmarked(typeset_element(body))
    places: dict[str, int] = {}
    breaks: list[tuple[int, str]] = []
    last = max(found, default=-1)
    for number, mark in enumerate(marks):
        at = found.get(number, len(setting.text) if number > last else -1)
        if isinstance(mark, Break):
            breaks += [(at, mark.label)] if at >= 0 else []
        elif at >= 0:
            places.setdefault(mark, at)
    return Text(setting, places, breaks, says, lists, title.words() if title else "")


def _marked(body: Element, wanted: Collection[str]) -> list[str | Break]:
    """Put a mark before the first words of each place, and take away what is no word of the book."""
    marks: list[str | Break] = []
    placed = 0
    waiting = [(body, i) for i in reversed(range(len(body.children)))]
    while waiting:
        parent, i = waiting.pop()
        node = parent.children[i]
        if isinstance(node, str):
            words = node.lstrip()
            if words and placed < len(marks):
                signs = "".join(chr(_FIRST_MARK + number) for number in range(placed, len(marks)))
                parent.children[i] = node[: len(node) - len(words)] + signs + words
                placed = len(marks)
            continue
        says = kinds(node)
        if len(marks) < _MOST_MARKS:
            marks += [name for name in (node.get("id"), node.get("name")) if name and name in wanted]
            if "pagebreak" in says:
                marks.append(Break(node.get("title") or node.get("aria-label") or node.words()))
        unseen = says & {"pagebreak", "landmarks", "page-list"} or (node.tag == "nav" and "toc" in says)
        if unseen or (says & {"noteref", "backlink"} and _is_sign(node)):
            node.children = []
        waiting += [(node, at) for at in reversed(range(len(node.children)))]
    return marks


def _is_sign(element: Element) -> bool:
    """Whether an element is short and says nothing: the number of a note."""
    inside = list(islice(element.inside(), _FEW))
    return len(inside) < _FEW and all(_NO_WORD.fullmatch(node) for node in inside if isinstance(node, str))


def _unmarked(setting: Setting) -> tuple[Setting, dict[int, int]]:
    """The text without its marks, and where each was."""
    starts = [found.start() for found in _MARK.finditer(setting.text)]
    found = {ord(setting.text[start]) - _FIRST_MARK: start - i for i, start in enumerate(starts)}
    text = _MARK.sub("", setting.text)
    runs = (Run(0, len(text), 0, len(text)),) if text else ()
    return Setting(text, runs, tuple(_moved(block, starts) for block in setting.blocks)), found


def _moved(block: Block, starts: list[int]) -> Block:
    start, end = (at - bisect_left(starts, at) for at in (block.start, block.end))
    children = tuple(_moved(child, starts) for child in block.children)
    return Block(block.kind, start, end, block.level, block.anchor, children)


def _is_list_of_links(body: Element) -> bool:
    """Whether a page is hardly anything but links to other pages of the book."""
    whole = linked = links = 0
    waiting: list[tuple[Element | str, bool]] = [(body, False)]
    while waiting:
        node, inside = waiting.pop()
        if isinstance(node, str):
            letters = sum(map(str.isalpha, node))
            whole, linked = whole + letters, linked + letters * inside
            continue
        leads = node.tag == "a" and "href" in node.attributes and "://" not in node.get("href")
        links += leads
        waiting += [(child, inside or leads) for child in node.children]
    return links >= _FEWEST_LINKS and linked > _MOSTLY * whole
