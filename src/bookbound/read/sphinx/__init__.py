"""A Sphinx project: its pages at their addresses, in the order of its lists of pages."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from bookbound.book import Manuscript, Notice, Page
from bookbound.read import files
from bookbound.read.galley import Setting
from bookbound.read.sphinx.draft import Desk, Draft
from bookbound.read.sphinx.numbers import Numbers
from bookbound.read.sphinx.order import Listed, Order
from bookbound.read.sphinx.pages import References, draft, set_pages
from bookbound.read.sphinx.project import Project, find_project, own_project
from bookbound.read.titles import book_title
from bookbound.read.woven import Shelf


def knows_sphinx(source: Path) -> bool:
    """Whether a Sphinx project stands at or below this folder: by its `conf.py`, or by a list of pages.

    One whose table of contents is a file of its own is a Jupyter Book.
    """
    listed = any(files.is_file(source / name) for name in ("_toc.yml", "myst.yml"))
    return files.is_folder(source) and not listed and find_project(source) is not None


def is_sphinx(source: Path) -> bool:
    """Whether a project stands where a folder would keep one, and not only somewhere below."""
    return own_project(source) is not None


def read_sphinx(source: Path) -> Manuscript:
    """The pages of the Sphinx project at or below `source`."""
    project = find_project(source) or Project(source)
    desk = Desk(Shelf(source), project.home, project.config)
    paths, others, notices = project.files()
    drafts: dict[str, Draft] = {}
    found: dict[str, str] = {}
    for path in (*paths, *others):
        name = project.name(path)
        if name not in drafts:
            file = path.relative_to(source).as_posix()
            made, odd = draft(path, file, desk)
            notices += odd
            if made:
                drafts[name], found[name] = made, file
    order = Order(drafts, project.config.suffixes)
    numbers = Numbers(order, project.config.root, project.config)
    order = replace(order, numbers=numbers.titles())
    own = {project.name(path) for path in paths}
    listed = [page for page in order.pages(project.config.root) if page.reached or page.name in own]
    pages, odd = set_pages(listed, order, References(order, numbers, project.inventory()), found, project.address)
    notices += [*odd, *_told(order, listed, found, project.config.root)]
    title = project.config.title or _called(source, pages, project.address(project.config.root))
    return Manuscript(title, "sphinx", tuple(pages), (*project.notices, *notices))


def _told(order: Order, listed: list[Listed], found: dict[str, str], root: str) -> list[Notice]:
    """Which pages no list leads to, and which are listed and are not there."""
    alone = [page.name for page in listed if not page.reached and not order.drafts[page.name].orphan]
    notices = []
    if alone and root in order.drafts:
        count = "1 page is" if len(alone) == 1 else f"{len(alone)} pages are"
        notices.append(Notice(found[root], f"{count} in no toctree: {files.first_of(alone)}"))
    for page in listed:
        if missing := order.missing(page.name):
            told = f"lists pages that are not there: {files.first_of(missing)}"
            notices.append(Notice(found[page.name], told, lost=True))
    return notices


def _called(source: Path, pages: list[Page], opening: str) -> str:
    """What the first page is called; else the folder."""
    return book_title(source, [Setting(page.text, page.runs, page.blocks) for page in pages if page.url == opening])
