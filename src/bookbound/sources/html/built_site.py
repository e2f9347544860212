"""Reads a folder of HTML that a site generator built."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from urllib.parse import quote, urlsplit

from bookbound.domain.document import ParsedBook
from bookbound.domain.errors import SourceError
from bookbound.sources import files
from bookbound.sources.file_loader import load_html_text
from bookbound.sources.html.html_page import HtmlPage, detect_generator, find_canonical_url, parse_html_page
from bookbound.sources.html.search_indexes import load_search_indexes, merge_search_indexes
from bookbound.sources.html.selectolax import HtmlDocument
from bookbound.sources.html.site_book import assemble_site_book
from bookbound.sources.html.urls import SAFE_PATH_CHARS, page_key
from bookbound.sources.titles import humanize_name

_SOURCE_SUFFIXES = files.MARKDOWN_SUFFIXES | files.NOTEBOOK_SUFFIXES | {".rst"}
_PLACEHOLDER_ORIGIN = "http://book.invalid"
_MAX_PAGES_CHECKED = 20


def is_html_source(source: Path) -> bool:
    """Whether this is an HTML file, or a folder with an index.html that a generator built or with mostly HTML."""
    if files.is_file(source):
        return source.suffix.lower() in files.HTML_SUFFIXES
    if not files.is_file(source / "index.html"):
        return False
    html = load_html_text(source / "index.html", "index.html").value
    if html and detect_generator(html):
        return True
    html_files, _ = files.find_files(source, files.HTML_SUFFIXES, is_built=True)
    return len(html_files) > len(files.find_files(source, _SOURCE_SUFFIXES)[0])


def read_html(source: Path) -> ParsedBook:
    """Read the site in a folder, or one HTML file."""
    is_file = files.is_file(source)
    root = source.parent if is_file else source
    paths, notices = ([source], []) if is_file else files.find_files(root, files.HTML_SUFFIXES, is_built=True)
    home = _find_site_url(root, paths[:_MAX_PAGES_CHECKED])
    pages: list[HtmlPage] = []
    keys: set[str] = set()
    for path in paths:
        file = files.printable_path(path.relative_to(root))
        html, page_notices = load_html_text(path, file)
        notices += page_notices
        if html is not None:
            page = parse_html_page(html, home + _page_path(file), file)
            # `a.html` and `a/index.html` are often one page, but not if both files exist.
            pages.append(replace(page, key=f"{page.key}//{file}") if page.key in keys else page)
            keys.add(page.key)
    if all(page.is_noindex for page in pages):
        pages = [replace(page, is_noindex=False) for page in pages]  # the user chose this folder
    indexes, index_notices = load_search_indexes(root) if root == source else ({}, [])
    title = humanize_name(files.printable_path(Path(root.resolve().name)))
    search_index = merge_search_indexes(indexes, home + "/")
    book = assemble_site_book(pages, home + "/", title, [*notices, *index_notices], search_index)
    if not book.pages:
        reasons = files.summarize_notices(book.notices)
        raise SourceError(f"No HTML page has visible text. Name the folder of a built site.{reasons}")
    local_pages = (replace(page, url=page.url.removeprefix(_PLACEHOLDER_ORIGIN)) for page in book.pages)
    return replace(book, pages=tuple(local_pages))


def _page_path(file: str) -> str:
    folder, _, name = file.rpartition("/")
    name = "" if name == "index.html" else name
    return quote(f"/{folder}/{name}" if folder else f"/{name}", SAFE_PATH_CHARS)


def _find_site_url(root: Path, paths: list[Path]) -> str:
    """Return the URL that the site's canonical links imply, else a placeholder."""
    for path in paths:
        file = files.printable_path(path.relative_to(root))
        document = HtmlDocument(load_html_text(path, file).value or "")
        canonical = find_canonical_url(document, _PLACEHOLDER_ORIGIN + _page_path(file)).split("?")[0]
        below = page_key(_PLACEHOLDER_ORIGIN + _page_path(file)).removeprefix(page_key(_PLACEHOLDER_ORIGIN))
        if canonical and not canonical.startswith(_PLACEHOLDER_ORIGIN) and page_key(canonical).endswith(below):
            return f"{urlsplit(canonical).scheme}://{page_key(canonical).removesuffix(below)}"
    return _PLACEHOLDER_ORIGIN
