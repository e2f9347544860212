"""Reads a folder of HTML that a site generator built."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from urllib.parse import quote, urlsplit

from bookbound.domain.document import ParsedBook
from bookbound.domain.errors import SourceError
from bookbound.sources import files, titles
from bookbound.sources.decoding import load_html_text
from bookbound.sources.html.html_page import HtmlPage, detect_generator, find_canonical_url, parse_html_page
from bookbound.sources.html.search_indexes import load_search_indexes, merge_search_indexes
from bookbound.sources.html.selectolax import HtmlDocument
from bookbound.sources.html.site_book import assemble_site_book
from bookbound.sources.html.urls import SAFE_PATH_CHARS, page_key
from bookbound.sources.skipped_files import summarize_notices

_SOURCE_SUFFIXES = files.MARKDOWN_SUFFIXES | files.NOTEBOOK_SUFFIXES | {".rst"}
_PLACEHOLDER_ORIGIN = "http://book.invalid"
_MAX_PAGES_CHECKED = 20


def is_html_source(source: Path) -> bool:
    """Whether a source is a page of HTML, or a folder that opens with one and is a generator's or mostly such pages."""
    if files.is_file(source):
        return source.suffix.lower() in files.HTML_SUFFIXES
    if not files.is_file(source / "index.html"):
        return False
    html, _ = load_html_text(source / "index.html", "index.html")
    if html and detect_generator(html):
        return True
    return len(files.find_files(source, files.HTML_SUFFIXES, built=True)[0]) > len(
        files.find_files(source, _SOURCE_SUFFIXES)[0]
    )


def read_html(source: Path) -> ParsedBook:
    """The book of the site that stands in a folder, or of one page of HTML."""
    root = source.parent if files.is_file(source) else source
    paths, notices = (
        ([source], []) if files.is_file(source) else files.find_files(root, files.HTML_SUFFIXES, built=True)
    )
    home = _find_site_url(root, paths[:_MAX_PAGES_CHECKED])
    pages: list[HtmlPage] = []
    taken: set[str] = set()
    for path in paths:
        file = files.printable_path(path.relative_to(root))
        html, odd = load_html_text(path, file)
        notices += odd
        if html is not None:
            page = parse_html_page(html, home + _page_path(file), file)
            # `a.html` and `a/index.html` are often one page, but not where both are there.
            pages.append(replace(page, key=f"{page.key}//{file}") if page.key in taken else page)
            taken.add(page.key)
    if all(page.kept_out for page in pages):
        pages = [replace(page, kept_out=False) for page in pages]  # whoever names the folder may read it
    found, odd = load_search_indexes(root) if root == source else ({}, [])
    name = titles.humanize_name(files.printable_path(Path(root.resolve().name)))
    book = assemble_site_book(pages, home + "/", name, [*notices, *odd], merge_search_indexes(found, home + "/"))
    if not book.pages:
        why = summarize_notices(book.notices)
        raise SourceError(f"No page of HTML shows words: name the folder that a generator built its site into.{why}")
    return replace(
        book, pages=tuple(replace(page, url=page.url.removeprefix(_PLACEHOLDER_ORIGIN)) for page in book.pages)
    )


def _page_path(file: str) -> str:
    """Where a page of a site stands below its home."""
    folder, _, name = file.rpartition("/")
    shown = "" if name == "index.html" else name
    return quote(f"/{folder}/{shown}" if folder else f"/{shown}", SAFE_PATH_CHARS)


def _find_site_url(root: Path, paths: list[Path]) -> str:
    """Where the site says it stands; nowhere, if it does not."""
    for path in paths:
        file = files.printable_path(path.relative_to(root))
        html, _ = load_html_text(path, file)
        said = find_canonical_url(HtmlDocument(html or ""), _PLACEHOLDER_ORIGIN + _page_path(file)).split("?")[0]
        below = page_key(_PLACEHOLDER_ORIGIN + _page_path(file)).removeprefix(page_key(_PLACEHOLDER_ORIGIN))
        if said and not said.startswith(_PLACEHOLDER_ORIGIN) and page_key(said).endswith(below):
            return f"{urlsplit(said).scheme}://{page_key(said).removesuffix(below)}"
    return _PLACEHOLDER_ORIGIN
