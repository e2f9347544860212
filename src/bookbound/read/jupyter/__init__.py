"""A Jupyter Book, a MyST project or notebooks: their pages in the order of their table of contents."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from urllib.parse import quote

from bookbound.book import Manuscript, Notice
from bookbound.read import decode, files
from bookbound.read.frontmatter import load
from bookbound.read.jupyter.toc import Contents, contents
from bookbound.read.others import others
from bookbound.read.sphinx.draft import Desk, Draft
from bookbound.read.sphinx.numbers import Numbers
from bookbound.read.sphinx.order import Listed, Order
from bookbound.read.sphinx.pages import References, draft, set_pages
from bookbound.read.woven import Shelf

_SUFFIXES = (".md", ".ipynb", ".rst")


@dataclass(frozen=True, slots=True)
class Book:
    """The folder of a book's pages, its title and address, what it lists, and whether MyST's own tools build it."""

    home: Path
    title: str = ""
    site: str = ""
    contents: Contents = field(default_factory=Contents)
    mystmd: bool = False

    def address(self, name: str) -> str:
        """Where a page opens: MyST's own tools leave folders, numbers and endings out, and open with the first."""
        if not self.mystmd:
            return f"{self.site.rstrip('/')}/{quote(name)}.html"
        last = re.sub(r"^[\d_.-]+(?=[^\d_.-])", "", name.rpartition("/")[2].lower())
        slug = re.sub(r"[^a-z0-9]+", "-", last).strip("-")
        return f"{self.site.rstrip('/')}/{'' if name == self.contents.root else slug}"


def knows_jupyter(source: Path) -> bool:
    """Whether this is a notebook, a folder of notebooks, or one with the table of contents of a Jupyter Book."""
    if not files.is_folder(source):
        return source.suffix.lower() == ".ipynb"
    if lists_pages(source):
        return True
    found, _ = files.find(source, frozenset(_SUFFIXES))
    return sum(path.suffix.lower() == ".ipynb" for path in found) * 2 > len(found)


def lists_pages(source: Path) -> bool:
    """Whether the table of contents of a Jupyter Book stands in this folder."""
    return any(files.is_file(source / name) for name in ("_toc.yml", "myst.yml"))


def read_jupyter(source: Path) -> Manuscript:
    """The book, or the notebook, at `source`."""
    if not files.is_folder(source):
        return _book(source.parent, Book(source.parent), [source], [])
    book = _find(source)
    paths, notices = files.find(book.home, frozenset(_SUFFIXES))
    notices += [] if lists_pages(source) else others(source, frozenset(_SUFFIXES))
    return _book(source, book, paths, notices)


def _book(source: Path, book: Book, paths: list[Path], notices: list[Notice]) -> Manuscript:
    desk = Desk(Shelf(source), book.home)
    drafts: dict[str, Draft] = {}
    found: dict[str, str] = {}
    for path in sorted(paths, key=lambda one: _SUFFIXES.index(one.suffix.lower())):
        name = path.relative_to(book.home).with_suffix("").as_posix()
        if name not in drafts:
            file = path.relative_to(source).as_posix()
            made, odd = draft(path, file, desk, book.mystmd)
            notices += odd
            if made:
                marks = tuple(mark for mark in made.outline if mark.kind != "toctree")
                drafts[name], found[name] = replace(made, toctrees=(), outline=marks), file
    order = Order(drafts, _SUFFIXES)
    root = order.resolve(book.contents.root, "") if book.contents.root else ""
    for name, lists in book.contents.lists.items():
        if page := order.resolve(name, ""):
            drafts[page] = replace(drafts[page], toctrees=tuple(lists))
    numbers = Numbers(order, root, desk.config)
    order = replace(order, numbers=numbers.titles())
    listed, left = _listed(order, root)
    notices += left
    address = replace(book, contents=Contents(root)).address
    pages, odd = set_pages(listed, order, References(order, numbers), found, address)
    notices += [*odd, *_missing(order, listed)]
    title = book.title or (pages[0].title if len(pages) == 1 else files.readable(source.resolve().name))
    return Manuscript(title, "jupyter", tuple(pages), tuple(notices))


def _listed(order: Order, root: str) -> tuple[list[Listed], list[Notice]]:
    """The pages that the table of contents lists, and how many it does not; without one, all pages."""
    pages = order.pages(root)
    left = [page.name for page in pages if not page.reached]
    if not root or not left:
        return pages, []
    count = "1 page is" if len(left) == 1 else f"{len(left)} pages are"
    told = Notice("_toc.yml", f"{count} not listed and left out: {files.first_of(left)}")
    return [page for page in pages if page.reached], [told]


def _missing(order: Order, listed: list[Listed]) -> list[Notice]:
    """Which pages are listed and are not there."""
    names = [name.lstrip("/") for page in listed for name in order.missing(page.name)]
    return [Notice("_toc.yml", f"lists pages that are not there: {files.first_of(names)}", lost=True)] if names else []


def _find(source: Path) -> Book:
    """The book whose settings stand in a folder."""
    project = _part(_settings(source / "myst.yml"), "project")
    config = _settings(source / "_config.yml")
    listed: Any = _settings(source / "_toc.yml") or project.get("toc")
    title = project.get("title") or (config.get("title") if isinstance(config, dict) else "")
    site = _part(config, "html").get("baseurl")
    return Book(
        source,
        title.strip() if isinstance(title, str) else "",
        site if isinstance(site, str) else "",
        contents(listed),
        mystmd=files.is_file(source / "myst.yml"),
    )


def _settings(path: Path) -> Any:
    """What a file of settings holds; nothing where it is not there or no plain YAML."""
    if not files.is_file(path):
        return {}
    text, _ = decode.load(path, path.name, decode.LARGEST_SETTINGS)
    return load(text or "") or {}


def _part(holder: Any, name: str) -> dict[str, Any]:
    value = holder.get(name) if isinstance(holder, dict) else None
    return value if isinstance(value, dict) else {}
