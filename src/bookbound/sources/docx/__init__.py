"""Reads a DOCX file: its headings, paragraphs, lists, tables, code and notes, split into chapters."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from urllib.parse import quote
from xml.etree.ElementTree import Element

from bookbound.domain.document import Page, ParsedBook
from bookbound.domain.errors import SourceError
from bookbound.sources import files
from bookbound.sources.defusedxml import find_elements, parse_xml
from bookbound.sources.docx.body_renderer import BodyRenderer
from bookbound.sources.docx.paragraphs import Notes, Paragraph, ParagraphReader, StyleSheet, iterate_blocks
from bookbound.sources.file_loader import MAX_PAGE_BYTES
from bookbound.sources.titles import fallback_title
from bookbound.sources.zip_archive import UnreadableMemberError, ZipArchive

_MAIN_PART_TYPE = "wordprocessingml.document.main+xml"
_DEFAULT_MAIN_PART = "word/document.xml"
_NOT_DOCX = "The file is not a readable DOCX: open it in a word processor and save it again."
_NO_WORDS = "The DOCX has no words. If it contains pictures of pages, run OCR first and index the result."


def is_docx_source(source: Path) -> bool:
    return source.suffix.lower() == ".docx" and files.is_file(source)


def read_docx(source: Path) -> ParsedBook:
    """Read the book in a DOCX file; its chapters begin at the headings of the first level."""
    with closing(ZipArchive(source)) as archive:
        main = _find_main_part(archive)
        body = next(find_elements(_load_part(archive, main), "body"), None)
        if body is None:
            raise SourceError(_NOT_DOCX)
        folder = posixpath.dirname(main)
        styles, numbering, footnotes, endnotes = (
            _load_part(archive, posixpath.join(folder, f"{name}.xml"))
            for name in ("styles", "numbering", "footnotes", "endnotes")
        )
        properties = _load_part(archive, "docProps/core.xml")
    reader = ParagraphReader(StyleSheet.parse(styles, numbering), Notes.parse(footnotes, endnotes))
    blocks = list(iterate_blocks(body, reader))
    named = [each.text for each in blocks if isinstance(each, Paragraph) and each.kind == "title"]
    metadata = ["".join(each.itertext()) for each in find_elements(properties, "title")]
    title = fallback_title(next((name for name in (*named, *metadata) if name.strip()), ""), source)
    pages = tuple(_build_pages(source.name, title, blocks, reader))
    if not pages:
        raise SourceError(_NO_WORDS)
    return ParsedBook(title, "docx", pages, tuple(archive.notices))


def _build_pages(file: str, title: str, blocks: list[Paragraph | Element], reader: ParagraphReader) -> Iterator[Page]:
    chapters: list[tuple[str, list[Paragraph | Element]]] = [(title, [])]
    for block in blocks:
        if isinstance(block, Paragraph) and block.kind == "heading" and block.level == 1:
            chapters.append((block.text, []))
        chapters[-1][1].append(block)
    position = 0
    for number, (name, content) in enumerate(chapters):
        rendered = BodyRenderer(reader).render(content)
        if rendered.text:
            page = f"{file}#{number}" if number else file
            yield Page(page, quote(file), name, name, position, rendered.text, *rendered)
            position += 1


def _find_main_part(archive: ZipArchive) -> str:
    types = find_elements(_load_part(archive, "[Content_Types].xml"), "Override")
    found = (each.get("PartName", "") for each in types if each.get("ContentType", "").endswith(_MAIN_PART_TYPE))
    return next(found, _DEFAULT_MAIN_PART).lstrip("/")


def _load_part(archive: ZipArchive, name: str) -> Element | None:
    try:
        return parse_xml(archive.read(name), MAX_PAGE_BYTES)
    except UnreadableMemberError:
        return None
