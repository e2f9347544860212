"""Reads an EPUB: its documents in spine order, split into the chapters of its table of contents."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote

from bookbound.domain.document import Page, PageBreak, ParsedBook, SourceNotice
from bookbound.sources.defusedxml import MAX_XML_BYTES
from bookbound.sources.epub.content_documents import (
    EpubDocument,
    EpubToc,
    EpubTocEntry,
    map_block_offsets,
    move_markup,
    parse_document,
    parse_epub_toc,
    xhtml_to_html,
)
from bookbound.sources.epub.opf_package import EpubPackage, ManifestItem, read_package
from bookbound.sources.page_builder import RenderedPage, make_whole_span
from bookbound.sources.titles import fallback_title, find_first_title
from bookbound.sources.zip_archive import UnreadableMemberError, ZipArchive

MAX_CHAPTERS_PER_DOCUMENT = 500
_CONTENTS_TYPES = frozenset(("toc", "landmarks", "page-list"))
_SKIPPED_TYPES = frozenset(("cover", "titlepage", "halftitlepage", "loi", "lot"))
_MAX_PAGE_NUMBER_DIGITS = 6


class ChapterSlice(NamedTuple):
    """The part of a document's text that belongs to one chapter."""

    start: int
    end: int
    chapter: str


def read_epub(source: Path) -> ParsedBook:
    """Read the book in an EPUB file."""
    with closing(ZipArchive(source)) as archive:
        package = read_package(archive)
        title = fallback_title(package.title, source)
        reader = _EpubReader(archive, package, title, quote(source.name))
        for item in package.spine:
            reader.read_document(item)
    return ParsedBook(title, "epub", tuple(reader.pages), (*archive.notices, *package.notices, *reader.notices))


def _load_toc(archive: ZipArchive, package: EpubPackage) -> EpubToc:
    """Load the table of contents of EPUB 3, else that of EPUB 2."""
    toc = EpubToc()
    for name in filter(None, (package.nav, package.ncx)):
        if toc.entries:
            break
        try:
            data = archive.read(name, MAX_XML_BYTES)
        except UnreadableMemberError as error:
            package.notices.append(SourceNotice(name, f"{error}: chapters may be named after their pages"))
            continue
        found = parse_epub_toc(xhtml_to_html(data), name)
        if not found.entries:
            package.notices.append(SourceNotice(name, "lists no chapters: chapters may be named after their pages"))
        toc = EpubToc(found.entries, toc.pages or found.pages)
    return toc


class _EpubReader:
    """Reads documents one by one; the current chapter and printed page continue from each to the next.

    A link opens the file at `url`, and its fragment names the document in it.
    """

    def __init__(self, archive: ZipArchive, package: EpubPackage, title: str, url: str) -> None:
        toc = _load_toc(archive, package)
        self.pages: list[Page] = []
        self.notices: list[SourceNotice] = []
        self._archive, self._skipped_paths = archive, package.skipped_paths
        self._chapter, self._url = title, url
        self._last_break: PageBreak | None = None
        self._break_count = 0
        self._entries: dict[str, list[EpubTocEntry]] = defaultdict(list)
        for entry in toc.entries:
            self._entries[entry.name].append(entry)
        self._labels: dict[str, dict[str, str]] = defaultdict(dict)
        for entry in toc.pages:
            self._labels[entry.name].setdefault(entry.fragment, entry.label)

    def read_document(self, item: ManifestItem) -> None:
        entries, labels = self._entries[item.name], self._labels[item.name]
        try:
            html = xhtml_to_html(self._archive.read(item.name))
            document = parse_document(html, {entry.fragment for entry in entries} | set(labels))
        except UnreadableMemberError as error:
            self.notices.append(SourceNotice(item.name, f"{error}; left out", lost=True))
            return
        reason = self._skip_reason(item, document)
        if document is None or reason:
            self.notices.append(SourceNotice(item.name, f"{reason}; left out", lost=document is None))
            return
        entries = entries[:MAX_CHAPTERS_PER_DOCUMENT]
        breaks = list(self._page_breaks(document, labels))
        for piece in self._split_chapters(document, entries):
            self.pages.append(self._build_page(item, document, entries, piece, breaks))

    def _split_chapters(self, document: EpubDocument, entries: list[EpubTocEntry]) -> Iterator[ChapterSlice]:
        """Begin a chapter at the block that each entry of the first level links to."""
        text, starts = document.rendered.text, [block.start for block in document.rendered.blocks]
        titles: dict[int, str] = {}
        for entry in entries:
            if not entry.depth:
                before = bisect_right(starts, document.offsets.get(entry.fragment, 0))
                titles[starts[before - 1] if before else 0] = entry.label
        start = 0
        for at in (*sorted(titles), len(text)):
            if text[start:at].strip():
                yield ChapterSlice(start, at, self._chapter)
            start, self._chapter = at, titles.get(at) or self._chapter

    def _build_page(
        self,
        item: ManifestItem,
        document: EpubDocument,
        entries: list[EpubTocEntry],
        piece: ChapterSlice,
        breaks: list[PageBreak],
    ) -> Page:
        start, end, chapter = piece
        text = document.rendered.text[start:end].rstrip()
        blocks = document.rendered.blocks
        first, last = (bisect_left(blocks, at, key=lambda block: block.start) for at in (start, end))
        moved = tuple(map_block_offsets(block, lambda at: at - start) for block in blocks[first:last])
        markup = move_markup(document.rendered.markup, lambda at: min(max(at - start, 0), len(text)))
        rendered = RenderedPage(text, make_whole_span(len(text)), moved, markup)
        first = max(bisect_right(breaks, start, key=lambda each: each.at) - 1, 0)
        last = bisect_left(breaks, end, key=lambda each: each.at)
        # Of several breaks at one offset, the last counts.
        by_offset = {max(each.at - start, 0): each for each in breaks[first:last]}
        page_breaks = tuple(each._replace(at=at) for at, each in by_offset.items())
        here = [entry for entry in entries if document.offsets.get(entry.fragment, 0) == start and entry.label]
        title = find_first_title(rendered) or (here[0].label if here else "") or document.title or chapter
        fragment = ((here[-1].fragment if here else "") or str(start)) if start else ""
        file = f"{item.name}#{fragment}" if fragment else item.name
        url = f"{self._url}#{quote(item.path)}"
        return Page(file, url, title, chapter, len(self.pages), text, *rendered, page_breaks)

    def _page_breaks(self, document: EpubDocument, labels: dict[str, str]) -> Iterator[PageBreak]:
        """Yield the printed pages of a document; its first words are on the last page of the document before."""
        listed = {document.offsets[name]: label for name, label in labels.items() if name in document.offsets}
        found = document.breaks | listed
        if self._last_break and 0 not in found:
            yield self._last_break._replace(at=0)
        for at, label in sorted(found.items()):
            self._break_count += 1
            is_number = label.isdecimal() and len(label) <= _MAX_PAGE_NUMBER_DIGITS
            self._last_break = PageBreak(at, int(label) if is_number else self._break_count, label)
            yield self._last_break

    def _skip_reason(self, item: ManifestItem, document: EpubDocument | None) -> str:
        if document is None:
            return "is nested too deeply"
        if "nav" in item.properties or document.is_list_of_links or document.types & _CONTENTS_TYPES:
            return "is a table of contents"
        if not document.rendered.text.strip():
            return "has no words"
        is_cover = item.path in self._skipped_paths or document.types & _SKIPPED_TYPES
        return "is a cover or title page" if is_cover else ""
