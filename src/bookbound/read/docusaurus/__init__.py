"""A Docusaurus site: its pages at their routes, in the order of its sidebars."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from urllib.parse import quote

from bookbound.book import Manuscript, Notice, Page
from bookbound.read import files
from bookbound.read.docusaurus.config import Site, find_site
from bookbound.read.docusaurus.doc import SitePage, site_page
from bookbound.read.docusaurus.partials import Partials
from bookbound.read.docusaurus.sidebar import Placed, generated, written
from bookbound.read.docusaurus.versions import CURRENT, at_version, sidebars, versions
from bookbound.read.folder import read_folder
from bookbound.read.titles import book_title
from bookbound.read.woven import Shelf, Woven, weave

_SUFFIXES = frozenset((".md", ".mdx"))


def knows_docusaurus(source: Path) -> bool:
    """Whether a Docusaurus site, or its configuration, stands at, in or beside this folder."""
    return files.is_folder(source) and any(find_site(source))


def editions(source: Path) -> list[str]:
    """The versions of the site at `source`, released ones first and the newest of them before the others."""
    site, _ = find_site(source)
    return versions(site) if site else []


def read_docusaurus(root: Path, edition: str | None = None) -> Manuscript:
    """The pages of the Docusaurus site at `root`, of the edition that its readers see first or of the named one.

    A configuration that leads to no page leaves a folder of pages.
    """
    site, odd = find_site(root)
    if site is None and not odd:
        return Manuscript("", "docusaurus", (), (Notice(".", "there is no docusaurus.config here, and no _category_"),))
    book = _read_site(root, site, edition) if site else None
    if book is None or not (book.pages or book.notices):
        book = read_folder(root)
    return replace(book, notices=(*odd, *book.notices))


def _read_site(root: Path, site: Site, edition: str | None) -> Manuscript:
    notices: list[Notice] = []
    pages: list[Page] = []
    openings = []
    for one in (site, *site.others):
        # Another documentation of the site has versions of its own.
        shown = at_version(one, edition) or at_version(one, None)
        if shown:
            placed = _placed(root, one, shown, notices)
            openings += [page.setting for page, _ in placed if page.opens]
            for page, chapter in placed:
                url = shown.address(quote(page.slug, safe="/:@&=+$,;!~*'()"))
                pages.append(page.doc.page(url, page.title, chapter, len(pages)))
    title = site.title or book_title(root, openings)
    return Manuscript(title, "docusaurus", tuple(pages), tuple(notices))


def _placed(root: Path, site: Site, shown: Site, notices: list[Notice]) -> list[Placed]:
    """The pages of one documentation in the order of its sidebars; what these do not list comes after."""
    pages = _pages(root, shown, notices)
    tree = generated(shown.docs, pages, notices)
    version = CURRENT if shown.docs == site.docs else shown.docs.name.removeprefix("version-")
    listed, file = sidebars(site, version)
    found: dict[str, Placed] = {}
    for placed in written(listed, pages, tree) if listed else ():
        found.setdefault(placed.page.doc.file, placed)
    if listed is not None and not found:
        notices.append(Notice(file, "is no plain data; pages come in the order of their folders"))
    for placed in tree.placed():
        found.setdefault(placed.page.doc.file, placed)
    return list(found.values())


def _pages(root: Path, site: Site, notices: list[Notice]) -> list[SitePage]:
    paths, odd = files.find(site.docs, _SUFFIXES)
    notices += odd
    above = _above(root, site)
    shelf = Shelf(above)
    partials = Partials(shelf, site.home or site.docs.parent)

    def weaving(source: str, path: Path, start: int) -> tuple[Woven, list[Notice]]:
        woven = weave(source, partials.swaps(source, path, start))
        return woven, shelf.notices(path.relative_to(above).as_posix())

    pages: list[SitePage] = []
    for path in paths:
        parts = path.relative_to(site.docs).parts
        if not any(part.startswith("_") for part in parts):
            page, told = site_page(path, parts, path.relative_to(above).as_posix(), weaving)
            pages += [page] if page else []
            notices += told
    return pages


def _above(root: Path, site: Site) -> Path:
    """The folder from which files are named: the one that was named or, where that is a part of the site, the site's.

    So a file has one name, whichever of the two was named.
    """
    if site.docs.is_relative_to(root) and (site.home is None or site.home.is_relative_to(root)):
        return root
    return site.home if site.home and site.docs.is_relative_to(site.home) else site.docs.parent
