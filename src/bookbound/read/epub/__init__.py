"""An EPUB: its documents in the order of the spine, its chapters as the table of contents has them."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

from bookbound.book import Block, Leaf, Manuscript, Notice, Page, Run
from bookbound.read import files
from bookbound.read.called import called
from bookbound.read.defusedxml import LARGEST as LARGEST_XML
from bookbound.read.epub.archive import Archive, Unreadable
from bookbound.read.epub.contents import Contents, Entry, from_nav, from_ncx
from bookbound.read.epub.document import LEFT_OUT, Text, read_document, xhtml
from bookbound.read.epub.package import Member, Package, read_package
from bookbound.read.galley import Setting
from bookbound.read.titles import first_title

MOST_CHAPTERS = 500
"""The most entries of the contents by which one document is parted."""
Piece = tuple[int, int, str]
"""Where the words of a chapter begin and end in a document, and what the chapter is called."""


def knows_epub(source: Path) -> bool:
    """Whether a source is a file that is called an EPUB."""
    return source.suffix.lower() == ".epub" and files.is_file(source)


def read_epub(source: Path) -> Manuscript:
    """The book in an EPUB file."""
    with Archive(source) as archive:
        package = read_package(archive)
        title = called(package.title, source)
        contents = _contents(archive, package)
        reading = _Reading(archive, contents, title)
        for member in package.members:
            reading.add(member)
    return Manuscript(title, "epub", tuple(reading.pages), (*archive.notices, *package.notices, *reading.notices))


def _contents(archive: Archive, package: Package) -> Contents:
    """The table of contents of EPUB 3, else that of EPUB 2."""
    found = Contents()
    for name, is_nav in ((package.nav, True), (package.ncx, False)):
        if not name or found.entries:
            continue
        try:
            data = archive.read(name, LARGEST_XML)
        except Unreadable as fault:
            package.notices.append(Notice(name, f"{fault}: chapters may be named after their pages"))
            continue
        read = from_nav(xhtml(data), name) if is_nav else from_ncx(data, name)
        if not read.entries:
            package.notices.append(Notice(name, "lists no chapter: chapters may be named after their pages"))
        found = Contents(read.entries, found.pages or read.pages)
    return found


class _Reading:
    """Takes the documents of an EPUB one by one: the chapter and the printed page go on from each to the next."""

    def __init__(self, archive: Archive, contents: Contents, title: str) -> None:
        self.archive = archive
        self.pages: list[Page] = []
        self.notices: list[Notice] = []
        self.chapter = title
        self.leaf: Leaf | None = None
        self.printed = 0
        self.entries: dict[str, list[Entry]] = defaultdict(list)
        for entry in contents.entries:
            self.entries[entry.name].append(entry)
        self.labels: dict[str, dict[str, str]] = defaultdict(dict)
        for entry in contents.pages:
            self.labels[entry.name].setdefault(entry.fragment, entry.label)

    def add(self, member: Member) -> None:
        """Read one document, or tell why it is left out."""
        own, labels = self.entries[member.name], self.labels[member.name]
        try:
            html = xhtml(self.archive.read(member.name))
            text = read_document(html, {entry.fragment for entry in own} | set(labels))
        except Unreadable as fault:
            self.notices.append(Notice(member.name, f"{fault}; left out", lost=True))
            return
        reason = _reason(member, text)
        if text is None or reason:
            self.notices.append(Notice(member.name, f"{reason}; left out", lost=text is None))
            return
        leaves = list(self._leaves(text, labels))
        for start, end, chapter in self._pieces(text, own):
            self._page(member, text, own, (start, end, chapter), leaves)

    def _pieces(self, text: Text, own: list[Entry]) -> Iterator[Piece]:
        """The words of a document by chapter: each entry of the first level begins one, at the block it leads to."""
        starts = [block.start for block in text.setting.blocks]
        begins: dict[int, str] = {}
        for entry in own[:MOST_CHAPTERS]:
            if not entry.depth:
                before = bisect_right(starts, text.places.get(entry.fragment, 0))
                begins[starts[before - 1] if before else 0] = entry.label
        start = 0
        for at in (*sorted(begins), len(text.setting.text)):
            if at > start and text.setting.text[start:at].strip():
                yield start, at, self.chapter
            start, self.chapter = at, begins.get(at) or self.chapter

    def _page(self, member: Member, text: Text, own: list[Entry], piece: Piece, leaves: list[Leaf]) -> None:
        start, end, chapter = piece
        words = text.setting.text[start:end].rstrip()
        first, last = (bisect_left(text.setting.blocks, at, key=lambda block: block.start) for at in (start, end))
        blocks = tuple(_shifted(block, start) for block in text.setting.blocks[first:last])
        setting = Setting(words, (Run(0, len(words), 0, len(words)),), blocks)
        lead = max(bisect_right(leaves, start, key=lambda leaf: leaf.at) - 1, 0)
        until = bisect_left(leaves, end, key=lambda leaf: leaf.at)
        inside = [leaf._replace(at=max(leaf.at - start, 0)) for leaf in leaves[lead:until]]
        kept = tuple(leaf for i, leaf in enumerate(inside) if i + 1 == len(inside) or inside[i + 1].at > leaf.at)
        begun = [entry for entry in own[:MOST_CHAPTERS] if text.places.get(entry.fragment, 0) == start and entry.label]
        title = first_title(setting) or (begun[0].label if begun else "") or text.title or chapter
        cut = f"#{begun[-1].fragment or start}" if start and begun else f"#{start}" if start else ""
        url = quote(member.address)
        self.pages.append(
            Page(member.name + cut, url, title, chapter, len(self.pages), words, *setting, kept),
        )

    def _leaves(self, text: Text, labels: dict[str, str]) -> Iterator[Leaf]:
        """The printed pages of a document; its first words stand on the one that the document before ended with."""
        found = {text.places[name]: label for name, label in labels.items() if name in text.places}
        found = {**dict(text.breaks), **found}
        if self.leaf and 0 not in found:
            yield self.leaf._replace(at=0)
        for at in sorted(found):
            self.printed += 1
            number = int(found[at]) if found[at].isdecimal() and len(found[at]) < 7 else self.printed
            self.leaf = Leaf(at, number, found[at])
            yield self.leaf


def _reason(member: Member, text: Text | None) -> str:
    """Why a document is no page of the book, or nothing."""
    if text is None:
        return "is nested deeper than a page may be"
    if member.is_nav or text.lists or text.kinds & {"toc", "landmarks", "page-list"}:
        return "is a table of contents"
    if not text.setting.text.strip():
        return "shows no words"
    return "is a cover or title page" if member.unseen or text.kinds & LEFT_OUT else ""


def _shifted(block: Block, by: int) -> Block:
    children = tuple(_shifted(child, by) for child in block.children)
    return Block(block.kind, block.start - by, block.end - by, block.level, block.anchor, children)
