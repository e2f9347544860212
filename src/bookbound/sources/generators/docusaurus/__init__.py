"""Reads a Docusaurus site: its pages at their routes, in the order of its sidebars."""

from __future__ import annotations

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
from bookbound.sources.generators.docusaurus.site_pages import DocusaurusPage, PartialResolver, load_page
from bookbound.sources.includes import ExpandedSource, IncludeLoader, substitute
from bookbound.sources.plain_folder import read_plain_folder
from bookbound.sources.titles import choose_book_title

_PAGE_SUFFIXES = frozenset((".md", ".mdx"))


def is_docusaurus_source(source: Path) -> bool:
    """Whether a Docusaurus site, or its configuration, stands at, in or beside this folder."""
    return files.is_folder(source) and any(find_docusaurus_site(source))


def list_editions(source: Path) -> list[str]:
    """The versions of the site at `source`, released ones first and the newest of them before the others."""
    site, _ = find_docusaurus_site(source)
    return list_versions(site) if site else []


def read_docusaurus(root: Path, edition: str | None = None) -> ParsedBook:
    """The pages of the Docusaurus site at `root`, of the edition that its readers see first or of the named one.

    A configuration that leads to no page leaves a folder of pages.
    """
    site, odd = find_docusaurus_site(root)
    if site is None and not odd:
        return ParsedBook(
            "", "docusaurus", (), (SourceNotice(".", "there is no docusaurus.config here, and no _category_"),)
        )
    book = _read_site(root, site, edition) if site else None
    if book is None or not (book.pages or book.notices):
        book = read_plain_folder(root)
    return replace(book, notices=(*odd, *book.notices))


def _read_site(root: Path, site: DocusaurusSite, edition: str | None) -> ParsedBook:
    notices: list[SourceNotice] = []
    pages: list[Page] = []
    openings = []
    for one in (site, *site.others):
        # Another documentation of the site has versions of its own.
        shown = select_version(one, edition) or select_version(one, None)
        if shown:
            placed = _order_pages(root, one, shown, notices)
            openings += [page.setting for page, _ in placed if page.opens]
            for page, chapter in placed:
                url = shown.address(quote(page.slug, safe="/:@&=+$,;!~*'()"))
                pages.append(page.doc.page(url, page.title, chapter, len(pages)))
    title = site.title or choose_book_title(root, openings)
    return ParsedBook(title, "docusaurus", tuple(pages), tuple(notices))


def _order_pages(
    root: Path, site: DocusaurusSite, shown: DocusaurusSite, notices: list[SourceNotice]
) -> list[SidebarEntry]:
    """The pages of one documentation in the order of its sidebars; what these do not list comes after."""
    pages = _load_pages(root, shown, notices)
    tree = generate_sidebar(shown.docs, pages, notices)
    version = CURRENT_VERSION if shown.docs == site.docs else shown.docs.name.removeprefix("version-")
    listed, file = load_sidebars(site, version)
    found: dict[str, SidebarEntry] = {}
    for placed in walk_sidebars(listed, pages, tree) if listed else ():
        found.setdefault(placed.page.doc.file, placed)
    if listed is not None and not found:
        notices.append(SourceNotice(file, "is no plain data; pages come in the order of their folders"))
    for placed in tree.placed():
        found.setdefault(placed.page.doc.file, placed)
    return list(found.values())


def _load_pages(root: Path, site: DocusaurusSite, notices: list[SourceNotice]) -> list[DocusaurusPage]:
    paths, odd = files.find_files(site.docs, _PAGE_SUFFIXES)
    notices += odd
    above = _base_folder(root, site)
    shelf = IncludeLoader(above)
    partials = PartialResolver(shelf, site.home or site.docs.parent)

    def weaving(source: str, path: Path, start: int) -> tuple[ExpandedSource, list[SourceNotice]]:
        woven = substitute(source, partials.swaps(source, path, start))
        return woven, shelf.notices(path.relative_to(above).as_posix())

    pages: list[DocusaurusPage] = []
    for path in paths:
        parts = path.relative_to(site.docs).parts
        if not any(part.startswith("_") for part in parts):
            page, told = load_page(path, parts, path.relative_to(above).as_posix(), weaving)
            pages += [page] if page else []
            notices += told
    return pages


def _base_folder(root: Path, site: DocusaurusSite) -> Path:
    """The folder from which files are named: the one that was named or, where that is a part of the site, the site's.

    So a file has one name, whichever of the two was named.
    """
    if site.docs.is_relative_to(root) and (site.home is None or site.home.is_relative_to(root)):
        return root
    return site.home if site.home and site.docs.is_relative_to(site.home) else site.docs.parent
