"""Reads a Docusaurus site: its pages at their routes, in the order of its sidebars."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from urllib.parse import quote

from bookbound.domain.document import Page, ParsedBook, SourceNotice
from bookbound.sources import files
from bookbound.sources.generators.docusaurus.config import (
    CURRENT_VERSION,
    DocusaurusSite,
    find_docusaurus_site,
    list_versions,
    select_version,
)
from bookbound.sources.generators.docusaurus.sidebar import SidebarEntry, generate_sidebar, load_sidebars, walk_sidebars
from bookbound.sources.generators.docusaurus.site_pages import DocusaurusPage, PartialResolver, load_docusaurus_page
from bookbound.sources.includes import IncludeLoader
from bookbound.sources.page_builder import RenderedPage
from bookbound.sources.plain_folder import read_plain_folder
from bookbound.sources.titles import choose_book_title

_PAGE_SUFFIXES = frozenset((".md", ".mdx"))
_UNQUOTED = "/:@&=+$,;!~*'()"


def is_docusaurus_source(source: Path) -> bool:
    return files.is_folder(source) and any(find_docusaurus_site(source))


def list_editions(source: Path) -> list[str]:
    """List the versions of the site, the newest released one first and the current one last."""
    site, _ = find_docusaurus_site(source)
    return list_versions(site) if site else []


def read_docusaurus(root: Path, edition: str | None = None) -> ParsedBook:
    """Read one edition of the site, by default the one that readers see first.

    If its configuration leads to no pages, the folder is read as plain pages.
    """
    site, notices = find_docusaurus_site(root)
    if site is None and not notices:
        notice = SourceNotice(".", "has neither a docusaurus.config file nor _category_ files")
        return ParsedBook("", "docusaurus", (), (notice,))
    book = _read_site(root, site, edition) if site else None
    if book is None or not (book.pages or book.notices):
        book = read_plain_folder(root)
    return replace(book, notices=(*notices, *book.notices))


def _read_site(root: Path, site: DocusaurusSite, edition: str | None) -> ParsedBook:
    notices: list[SourceNotice] = []
    pages: list[Page] = []
    homes: list[RenderedPage] = []
    for each in (site, *site.others):
        # Each documentation of a site has its own versions.
        version = select_version(each, edition) or select_version(each, None)
        if version:
            for page, chapter in _order_pages(root, each, version, notices):
                homes += [page.loaded.rendered] if page.is_home else []
                url = version.page_url(quote(page.slug, safe=_UNQUOTED))
                pages.append(page.loaded.make_page(url, page.title, chapter, len(pages)))
    return ParsedBook(site.title or choose_book_title(root, homes), "docusaurus", tuple(pages), tuple(notices))


def _order_pages(
    root: Path, site: DocusaurusSite, version: DocusaurusSite, notices: list[SourceNotice]
) -> list[SidebarEntry]:
    """Load the pages of one documentation in the order of its sidebars, unlisted ones last."""
    pages = list(_load_pages(root, version, notices))
    generated = generate_sidebar(version.docs, pages)
    name = CURRENT_VERSION if version.docs == site.docs else version.docs.name.removeprefix("version-")
    sidebars, file = load_sidebars(site, name)
    listed = list(walk_sidebars(sidebars, pages, generated)) if sidebars else []
    if sidebars is not None and not listed:
        notices.append(SourceNotice(file, "is not plain data; pages are in the order of their folders"))
    entries: dict[str, SidebarEntry] = {}
    for entry in (*listed, *generated.entries()):
        entries.setdefault(entry.page.loaded.file, entry)
    return list(entries.values())


def _load_pages(root: Path, site: DocusaurusSite, notices: list[SourceNotice]) -> Iterator[DocusaurusPage]:
    paths, file_notices = files.find_files(site.docs, _PAGE_SUFFIXES)
    notices += file_notices
    # File names are relative to one folder, so that a file has one name for any part of the site.
    base = site.home if site.docs.is_relative_to(site.home) else site.docs.parent
    base = root if site.docs.is_relative_to(root) and site.home.is_relative_to(root) else base
    partials = PartialResolver(IncludeLoader(base), site.home)
    for path in paths:
        parts = path.relative_to(site.docs).parts
        if not any(part.startswith("_") for part in parts):
            page, page_notices = load_docusaurus_page(path, parts, path.relative_to(base).as_posix(), partials)
            notices += page_notices
            if page:
                yield page
