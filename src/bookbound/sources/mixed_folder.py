"""Reads a folder of documents in several formats, or of several PDF, EPUB or DOCX files, as one book."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote

from bookbound.domain.document import Page, ParsedBook, SourceNotice
from bookbound.domain.errors import SourceError
from bookbound.sources import files
from bookbound.sources.detect import BOOK_READERS
from bookbound.sources.includes import IncludeLoader
from bookbound.sources.plain_folder import (
    INDEX_STEMS,
    PlainFileLoader,
    choose_folder_title,
    find_book_folder,
    has_legacy_gitbook_config,
    make_page,
    select_pages,
    sort_pages,
)
from bookbound.sources.table_of_contents import find_summary_file, find_toctree_file, read_toc_fence_order

_PLAIN_SUFFIXES = files.MARKDOWN_SUFFIXES | files.TEXT_SUFFIXES
# Of one document in several formats, the one whose words are most exact is read.
_SUFFIX_ORDER = ".md .mdx .markdown .rst .ipynb .docx .html .htm .xhtml .epub .txt .pdf".split()


class _Document(NamedTuple):
    """The pages of one file with the title that it gives itself, and how many pages a reader counts."""

    title: str
    pages: tuple[Page, ...]
    notices: tuple[SourceNotice, ...]
    page_count: int


def is_mixed_source(source: Path) -> bool:
    """Whether this is a folder without a table of contents that has more than Markdown and rST, or than text files."""
    if not files.is_folder(source) or has_legacy_gitbook_config(source):
        return False
    found, _ = files.find_files(source, frozenset(_SUFFIX_ORDER))
    paths = [path for path in found if not files.NON_PAGE_NAMES.fullmatch(path.name)]
    suffixes = {path.suffix.lower() for path in paths}
    is_plain = suffixes <= files.TEXT_SUFFIXES or suffixes <= _PLAIN_SUFFIXES - {".txt"}
    return not is_plain and not find_summary_file(paths) and not find_toctree_file(source, paths)


def read_mixed(source: Path) -> ParsedBook:
    """Read the documents of a folder in natural order; each is a chapter, and one alone is the book."""
    found, notices = files.find_files(source, frozenset(_SUFFIX_ORDER))
    paths, skipped = _choose_formats(source, found)
    home = find_book_folder(source, paths)
    selected = select_pages(paths, source, home, None)
    notices += skipped + files.report_unread_formats(source)
    notices += files.report_unlisted_files(source, [path for path in paths if path not in selected], None)
    loader = PlainFileLoader(source, IncludeLoader(source))
    order = sort_pages(source, selected, None, read_toc_fence_order(paths))
    documents = [(path, _read_document(path, loader, home)) for path in order]
    notices += [notice for _, document in documents for notice in document.notices]
    documents = [(path, document) for path, document in documents if document.pages]
    kinds = {files.detect_file_kind(path) for path, _ in documents}
    pages: list[Page] = []
    for path, document in documents:
        is_chapter = len(documents) > 1 and path.suffix.lower() in files.DOCUMENT_SUFFIXES
        for page in document.pages:
            chapter = document.title if is_chapter else page.chapter
            pages.append(replace(page, chapter=chapter, position=len(pages)))
    title = documents[0][1].title if len(documents) == 1 else choose_folder_title(loader, pages, paths)
    page_count = sum(document.page_count for _, document in documents)
    kind = kinds.pop() if len(kinds) == 1 else "mixed"
    return ParsedBook(title, kind, tuple(pages), tuple(notices), printed_pages=page_count)


def _choose_formats(root: Path, found: list[Path]) -> tuple[list[Path], list[SourceNotice]]:
    """Choose one file for each document, and report the others and the parts of a site's layout."""
    chosen: dict[tuple[Path, str], Path] = {}
    notices = []
    for path in sorted(found, key=lambda path: _SUFFIX_ORDER.index(path.suffix.lower())):
        if files.NON_PAGE_NAMES.fullmatch(path.name):
            continue
        relative, is_html = path.relative_to(root), path.suffix.lower() in files.HTML_SUFFIXES
        stem = INDEX_STEMS[-1] if is_html and path.stem.lower() in INDEX_STEMS else path.stem.lower()
        first = chosen.setdefault((path.parent, stem), path)
        if is_html and any(part.startswith("_") for part in relative.parts):
            notices.append(SourceNotice(relative.as_posix(), "is part of a layout; left out"))
        elif first is not path:
            notices.append(SourceNotice(relative.as_posix(), f"is {first.name} in another format; left out"))
    dropped = {root / notice.file for notice in notices}
    kept = set(chosen.values()) - dropped
    return [path for path in found if path in kept], notices


def _read_document(path: Path, loader: PlainFileLoader, home: Path) -> _Document:
    """Read one file with the reader of its format; a file that it refuses is reported as lost."""
    relative = path.relative_to(loader.root)
    if path.suffix.lower() in _PLAIN_SUFFIXES:
        loaded, notices = loader.load(path)
        if loaded is None:
            return _Document("", (), tuple(notices), 0)
        page = make_page(loaded, relative, home.relative_to(loader.root), 0)
        return _Document(page.title, (page,), tuple(notices), 1)
    kind = files.detect_file_kind(path)
    try:
        book = next(reader for reader in BOOK_READERS if reader.kind == kind).read(path)
    except SourceError as error:
        return _Document("", (), (SourceNotice(relative.as_posix(), f"left out. {error}", lost=True),), 0)
    pages = tuple(_move_page(page, relative) for page in book.pages)
    notices = [notice._replace(file=_file_name(relative, notice.file)) for notice in book.notices]
    return _Document(book.title, pages, tuple(notices), book.page_count)


def _move_page(page: Page, relative: Path) -> Page:
    """Return the page with its file and URL below the folder."""
    folder = quote("" if relative.parent == Path() else f"{relative.parent.as_posix()}/")
    url = f"/{folder}{page.url[1:]}" if page.url.startswith("/") else f"{folder}{page.url}"
    return replace(page, file=_file_name(relative, page.file), url=page.url if "://" in page.url else url)


def _file_name(relative: Path, file: str) -> str:
    """Return a file's name below the folder; a file inside an archive follows the name of the archive."""
    is_inside = file.partition("#")[0] != relative.name
    return f"{relative.as_posix()}/{file}" if is_inside else relative.with_name(file).as_posix()
