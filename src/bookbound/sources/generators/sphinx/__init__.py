"""Reads a Sphinx project: its pages, their URLs and their toctree order."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from bookbound.domain.document import Page, ParsedBook, SourceNotice
from bookbound.sources import files
from bookbound.sources.generators.sphinx.cross_references import BookReferences, draft_page, render_pages
from bookbound.sources.generators.sphinx.numbering import BookNumbering
from bookbound.sources.generators.sphinx.page_order import OrderedPage, PageOrder
from bookbound.sources.generators.sphinx.project import SphinxProject, find_sphinx_project, find_sphinx_root
from bookbound.sources.includes import IncludeLoader
from bookbound.sources.page_builder import RenderedPage
from bookbound.sources.rst.page_draft import PageDraft, ProjectContext
from bookbound.sources.titles import choose_book_title


def contains_sphinx_project(source: Path) -> bool:
    """Whether a Sphinx project stands at or below this folder: by its `conf.py`, or by a list of pages.

    One whose table of contents is a file of its own is a Jupyter Book.
    """
    listed = any(files.is_file(source / name) for name in ("_toc.yml", "myst.yml"))
    return files.is_folder(source) and not listed and find_sphinx_project(source) is not None


def is_sphinx_folder(source: Path) -> bool:
    """Whether a project stands where a folder would keep one, and not only somewhere below."""
    return find_sphinx_root(source) is not None


def read_sphinx(source: Path) -> ParsedBook:
    """The pages of the Sphinx project at or below `source`."""
    project = find_sphinx_project(source) or SphinxProject(source)
    desk = ProjectContext(IncludeLoader(source), project.home, project.config)
    paths, others, notices = project.files()
    drafts: dict[str, PageDraft] = {}
    found: dict[str, str] = {}
    for path in (*paths, *others):
        name = project.name(path)
        if name not in drafts:
            file = path.relative_to(source).as_posix()
            made, odd = draft_page(path, file, desk)
            notices += odd
            if made:
                drafts[name], found[name] = made, file
    order = PageOrder(drafts, project.config.suffixes)
    numbers = BookNumbering(order, project.config.root, project.config)
    order = replace(order, numbers=numbers.titles())
    own = {project.name(path) for path in paths}
    listed = [page for page in order.pages(project.config.root) if page.reached or page.name in own]
    pages, odd = render_pages(
        listed, order, BookReferences(order, numbers, project.inventory()), found, project.address
    )
    notices += [*odd, *_get_toctree_notices(order, listed, found, project.config.root)]
    title = project.config.title or _choose_book_title(source, pages, project.address(project.config.root))
    return ParsedBook(title, "sphinx", tuple(pages), (*project.notices, *notices))


def _get_toctree_notices(
    order: PageOrder, listed: list[OrderedPage], found: dict[str, str], root: str
) -> list[SourceNotice]:
    """Which pages no list leads to, and which are listed and are not there."""
    alone = [page.name for page in listed if not page.reached and not order.drafts[page.name].orphan]
    notices = []
    if alone and root in order.drafts:
        count = "1 page is" if len(alone) == 1 else f"{len(alone)} pages are"
        notices.append(SourceNotice(found[root], f"{count} in no toctree: {files.join_first_names(alone)}"))
    for page in listed:
        if missing := order.missing(page.name):
            told = f"lists pages that are not there: {files.join_first_names(missing)}"
            notices.append(SourceNotice(found[page.name], told, lost=True))
    return notices


def _choose_book_title(source: Path, pages: list[Page], opening: str) -> str:
    """What the first page is called; else the folder."""
    return choose_book_title(
        source, [RenderedPage(page.text, page.runs, page.blocks) for page in pages if page.url == opening]
    )
