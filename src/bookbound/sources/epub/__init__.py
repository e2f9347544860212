"""Reads an EPUB: its documents in spine order, split into the chapters of its table of contents."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

from bookbound.domain.document import Block, Page, PageBreak, ParsedBook, SourceNotice, SourceSpan
from bookbound.sources import files
from bookbound.sources.defusedxml import MAX_XML_BYTES as LARGEST_XML
from bookbound.sources.epub.content_documents import (
    SKIPPED_TYPES,
    EpubDocument,
    EpubToc,
    EpubTocEntry,
    parse_document,
    parse_nav,
    parse_ncx,
    xhtml_to_html,
)
from bookbound.sources.epub.opf_package import EpubPackage, SpineItem, read_package
from bookbound.sources.epub.zip_archive import UnreadableMemberError, ZipArchive
from bookbound.sources.page_builder import RenderedPage
from bookbound.sources.titles import fallback_title, find_first_title

MAX_CHAPTERS_PER_DOCUMENT = 500
"""The most entries of the contents by which one document is parted."""
ChapterSlice = tuple[int, int, str]
"""Where the words of a chapter begin and end in a document, and what the chapter is called."""


def is_epub_source(source: Path) -> bool:
    """Whether a source is a file that is called an EPUB."""
    return source.suffix.lower() == ".epub" and files.is_file(source)


def read_epub(source: Path) -> ParsedBook:
    """The book in an EPUB file."""
    with ZipArchive(source) as archive:
        package = read_package(archive)
        title = fallback_title(package.title, source)
        contents = _load_toc(archive, package)
        reading = _EpubReader(archive, contents, title)
        for member in package.members:
            reading.add(member)
    return ParsedBook(title, "epub", tuple(reading.pages), (*archive.notices, *package.notices, *reading.notices))


def _load_toc(archive: ZipArchive, package: EpubPackage) -> EpubToc:
    """The table of contents of EPUB 3, else that of EPUB 2."""
    found = EpubToc()
    for name, is_nav in ((package.nav, True), (package.ncx, False)):
        if not name or found.entries:
            continue
        try:
            data = archive.read(name, LARGEST_XML)
        except UnreadableMemberError as fault:
            package.notices.append(SourceNotice(name, f"{fault}: chapters may be named after their pages"))
            continue
        read = parse_nav(xhtml_to_html(data), name) if is_nav else parse_ncx(data, name)
        if not read.entries:
            package.notices.append(SourceNotice(name, "lists no chapter: chapters may be named after their pages"))
        found = EpubToc(read.entries, found.pages or read.pages)
    return found


class _EpubReader:
    """Takes the documents of an EPUB one by one: the chapter and the printed page go on from each to the next."""

    def __init__(self, archive: ZipArchive, contents: EpubToc, title: str) -> None:
        self.archive = archive
        self.pages: list[Page] = []
        self.notices: list[SourceNotice] = []
        self.chapter = title
        self.leaf: PageBreak | None = None
        self.printed = 0
        self.entries: dict[str, list[EpubTocEntry]] = defaultdict(list)
        for entry in contents.entries:
            self.entries[entry.name].append(entry)
        self.labels: dict[str, dict[str, str]] = defaultdict(dict)
        for entry in contents.pages:
            self.labels[entry.name].setdefault(entry.fragment, entry.label)

    def add(self, member: SpineItem) -> None:
        """Read one document, or tell why it is left out."""
        own, labels = self.entries[member.name], self.labels[member.name]
        try:
            html = xhtml_to_html(self.archive.read(member.name))
            text = parse_document(html, {entry.fragment for entry in own} | set(labels))
        except UnreadableMemberError as fault:
            self.notices.append(SourceNotice(member.name, f"{fault}; left out", lost=True))
            return
        reason = _skip_reason(member, text)
        if text is None or reason:
            self.notices.append(SourceNotice(member.name, f"{reason}; left out", lost=text is None))
            return
        leaves = list(self._leaves(text, labels))
        for start, end, chapter in self._pieces(text, own):
            self._page(member, text, own, (start, end, chapter), leaves)

    def _pieces(self, text: EpubDocument, own: list[EpubTocEntry]) -> Iterator[ChapterSlice]:
        """The words of a document by chapter: each entry of the first level begins one, at the block it leads to."""
        starts = [block.start for block in text.setting.blocks]
        begins: dict[int, str] = {}
        for entry in own[:MAX_CHAPTERS_PER_DOCUMENT]:
            if not entry.depth:
                before = bisect_right(starts, text.places.get(entry.fragment, 0))
                begins[starts[before - 1] if before else 0] = entry.label
        start = 0
        for at in (*sorted(begins), len(text.setting.text)):
            if at > start and text.setting.text[start:at].strip():
                yield start, at, self.chapter
            start, self.chapter = at, begins.get(at) or self.chapter

    def _page(
        self,
        member: SpineItem,
        text: EpubDocument,
        own: list[EpubTocEntry],
        piece: ChapterSlice,
        leaves: list[PageBreak],
    ) -> None:
        start, end, chapter = piece
        words = text.setting.text[start:end].rstrip()
        first, last = (bisect_left(text.setting.blocks, at, key=lambda block: block.start) for at in (start, end))
        blocks = tuple(_shift_block(block, start) for block in text.setting.blocks[first:last])
        setting = RenderedPage(words, (SourceSpan(0, len(words), 0, len(words)),), blocks)
        lead = max(bisect_right(leaves, start, key=lambda leaf: leaf.at) - 1, 0)
        until = bisect_left(leaves, end, key=lambda leaf: leaf.at)
        inside = [leaf._replace(at=max(leaf.at - start, 0)) for leaf in leaves[lead:until]]
        kept = tuple(leaf for i, leaf in enumerate(inside) if i + 1 == len(inside) or inside[i + 1].at > leaf.at)
        begun = [
            entry
            for entry in own[:MAX_CHAPTERS_PER_DOCUMENT]
            if text.places.get(entry.fragment, 0) == start and entry.label
        ]
        title = find_first_title(setting) or (begun[0].label if begun else "") or text.title or chapter
        cut = f"#{begun[-1].fragment or start}" if start and begun else f"#{start}" if start else ""
        url = quote(member.address)
        self.pages.append(
            Page(member.name + cut, url, title, chapter, len(self.pages), words, *setting, kept),
        )

    def _leaves(self, text: EpubDocument, labels: dict[str, str]) -> Iterator[PageBreak]:
        """The printed pages of a document; its first words stand on the one that the document before ended with."""
        found = {text.places[name]: label for name, label in labels.items() if name in text.places}
        found = {**dict(text.breaks), **found}
        if self.leaf and 0 not in found:
            yield self.leaf._replace(at=0)
        for at in sorted(found):
            self.printed += 1
            number = int(found[at]) if found[at].isdecimal() and len(found[at]) < 7 else self.printed
            self.leaf = PageBreak(at, number, found[at])
            yield self.leaf


def _skip_reason(member: SpineItem, text: EpubDocument | None) -> str:
    """Why a document is no page of the book, or nothing."""
    if text is None:
        return "is nested deeper than a page may be"
    if member.is_nav or text.lists or text.kinds & {"toc", "landmarks", "page-list"}:
        return "is a table of contents"
    if not text.setting.text.strip():
        return "shows no words"
    return "is a cover or title page" if member.unseen or text.kinds & SKIPPED_TYPES else ""


def _shift_block(block: Block, by: int) -> Block:
    children = tuple(_shift_block(child, by) for child in block.children)
    return Block(block.kind, block.start - by, block.end - by, block.level, block.anchor, children)
