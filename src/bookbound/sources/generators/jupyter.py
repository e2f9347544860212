"""Reads a Jupyter Book, a MyST project or notebooks in the order of their table of contents."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from urllib.parse import quote

from bookbound.domain.document import ParsedBook, SourceNotice
from bookbound.sources import decoding, files, titles
from bookbound.sources.generators.sphinx.cross_references import BookReferences, draft_page, render_pages
from bookbound.sources.generators.sphinx.numbering import BookNumbering
from bookbound.sources.generators.sphinx.page_order import OrderedPage, PageOrder
from bookbound.sources.includes import IncludeLoader
from bookbound.sources.rst.page_draft import PageDraft, ProjectContext, Toctree
from bookbound.sources.safe_config import parse_yaml
from bookbound.sources.skipped_files import report_other_formats

_GROUP_KEYS = ("parts", "subtrees")
_LIST_KEYS = ("chapters", "sections", "entries", "children")
_MAX_TOC_DEPTH = 20


@dataclass(slots=True, eq=False)
class JupyterToc:
    """The first page, and the lists of pages that each page leads to; empty where nothing is listed."""

    root: str = ""
    lists: dict[str, list[Toctree]] = field(default_factory=dict)


def parse_toc(read: Any) -> JupyterToc:
    """What a table of contents lists: `_toc.yml` of either format or of the one before them, or the `toc` of MyST."""
    found = JupyterToc()
    if isinstance(read, dict):
        found.root = _get_text(read, "root")
        _collect_toctrees(found, found.root, read, 0)
    elif isinstance(read, list):
        first = next(((at, item) for at, item in enumerate(read) if _get_text(item, "file")), None)
        if first:
            at, opening = first
            found.root = _get_text(opening, "file")
            _collect_toctrees(found, found.root, {**opening, "parts": [*read[:at], *read[at + 1 :]]}, 0)
    return found


def _collect_toctrees(found: JupyterToc, page: str, holder: Any, depth: int) -> None:
    """Note the lists that a page leads to, and those of the pages in them."""
    for caption, items in _iterate_lists(holder):
        lines = []
        for item in items if depth < _MAX_TOC_DEPTH else ():
            file = _get_text(item, "file") or (item if isinstance(item, str) else "") or _get_text(item, "pattern")
            file = file or _get_text(item, "glob")
            if file:
                lines.append((_get_text(item, "title"), f"/{file}"))
                _collect_toctrees(found, file, item, depth + 1)
            elif not _get_text(item, "url"):
                _collect_toctrees(found, page, {"parts": [item]}, depth + 1)
        if lines:
            found.lists.setdefault(page, []).append(Toctree(tuple(lines), caption, glob=True))


def _iterate_lists(holder: Any) -> Iterator[tuple[str, list[Any]]]:
    """The lists that stand in an entry, each under the name of its group."""
    for name in _LIST_KEYS:
        if items := _get_list(holder, name):
            yield "", items
    alone: list[Any] = []
    for group in (group for name in _GROUP_KEYS for group in _get_list(holder, name)):
        inside = [item for key in _LIST_KEYS for item in _get_list(group, key)]
        if _get_text(group, "file"):
            alone.append(group)
        elif inside:
            yield "", alone
            yield _get_text(group, "caption") or _get_text(group, "part") or _get_text(group, "title"), inside
            alone = []
    yield "", alone


def _get_list(holder: Any, name: str) -> list[Any]:
    value = holder.get(name) if isinstance(holder, dict) else None
    return value if isinstance(value, list) else []


def _get_text(holder: Any, name: str) -> str:
    value = holder.get(name) if isinstance(holder, dict) else None
    return value.strip() if isinstance(value, str) else ""


_PAGE_SUFFIXES = (".md", ".ipynb", ".rst")


@dataclass(frozen=True, slots=True)
class JupyterBook:
    """The folder of a book's pages, its title and address, what it lists, and whether MyST's own tools build it."""

    home: Path
    title: str = ""
    site: str = ""
    contents: JupyterToc = field(default_factory=JupyterToc)
    mystmd: bool = False

    def address(self, name: str) -> str:
        """Where a page opens: MyST's own tools leave folders, numbers and endings out, and open with the first."""
        if not self.mystmd:
            return f"{self.site.rstrip('/')}/{quote(name)}.html"
        last = re.sub(r"^[\d_.-]+(?=[^\d_.-])", "", name.rpartition("/")[2].lower())
        slug = re.sub(r"[^a-z0-9]+", "-", last).strip("-")
        return f"{self.site.rstrip('/')}/{'' if name == self.contents.root else slug}"


def is_jupyter_book(source: Path) -> bool:
    """Whether this is a notebook, a folder of notebooks, or one with the table of contents of a Jupyter Book."""
    if not files.is_folder(source):
        return source.suffix.lower() == ".ipynb"
    if has_toc_file(source):
        return True
    found, _ = files.find_files(source, frozenset(_PAGE_SUFFIXES))
    return sum(path.suffix.lower() == ".ipynb" for path in found) * 2 > len(found)


def has_toc_file(source: Path) -> bool:
    """Whether the table of contents of a Jupyter Book stands in this folder."""
    return any(files.is_file(source / name) for name in ("_toc.yml", "myst.yml"))


def read_jupyter(source: Path) -> ParsedBook:
    """The book, or the notebook, at `source`."""
    if not files.is_folder(source):
        return _read_book(source.parent, JupyterBook(source.parent), [source], [])
    book = _load_book_settings(source)
    paths, notices = files.find_files(book.home, frozenset(_PAGE_SUFFIXES))
    notices += [] if has_toc_file(source) else report_other_formats(source, frozenset(_PAGE_SUFFIXES))
    return _read_book(source, book, paths, notices)


def _read_book(source: Path, book: JupyterBook, paths: list[Path], notices: list[SourceNotice]) -> ParsedBook:
    desk = ProjectContext(IncludeLoader(source), book.home)
    drafts: dict[str, PageDraft] = {}
    found: dict[str, str] = {}
    for path in sorted(paths, key=lambda one: _PAGE_SUFFIXES.index(one.suffix.lower())):
        name = path.relative_to(book.home).with_suffix("").as_posix()
        if name not in drafts:
            file = path.relative_to(source).as_posix()
            made, odd = draft_page(path, file, desk, book.mystmd)
            notices += odd
            if made:
                marks = tuple(mark for mark in made.outline if mark.kind != "toctree")
                drafts[name], found[name] = replace(made, toctrees=(), outline=marks), file
    order = PageOrder(drafts, _PAGE_SUFFIXES)
    root = order.resolve(book.contents.root, "") if book.contents.root else ""
    for name, lists in book.contents.lists.items():
        if page := order.resolve(name, ""):
            drafts[page] = replace(drafts[page], toctrees=tuple(lists))
    numbers = BookNumbering(order, root, desk.config)
    order = replace(order, numbers=numbers.titles())
    listed, left = _select_listed_pages(order, root)
    notices += left
    address = replace(book, contents=JupyterToc(root)).address
    pages, odd = render_pages(listed, order, BookReferences(order, numbers), found, address)
    notices += [*odd, *_get_missing_page_notices(order, listed)]
    title = book.title or (pages[0].title if len(pages) == 1 else titles.humanize_name(source.resolve().name))
    return ParsedBook(title, "jupyter", tuple(pages), tuple(notices))


def _select_listed_pages(order: PageOrder, root: str) -> tuple[list[OrderedPage], list[SourceNotice]]:
    """The pages that the table of contents lists, and how many it does not; without one, all pages."""
    pages = order.pages(root)
    left = [page.name for page in pages if not page.reached]
    if not root or not left:
        return pages, []
    count = "1 page is" if len(left) == 1 else f"{len(left)} pages are"
    told = SourceNotice("_toc.yml", f"{count} not listed and left out: {files.join_first_names(left)}")
    return [page for page in pages if page.reached], [told]


def _get_missing_page_notices(order: PageOrder, listed: list[OrderedPage]) -> list[SourceNotice]:
    """Which pages are listed and are not there."""
    names = [name.lstrip("/") for page in listed for name in order.missing(page.name)]
    return (
        [SourceNotice("_toc.yml", f"lists pages that are not there: {files.join_first_names(names)}", lost=True)]
        if names
        else []
    )


def _load_book_settings(source: Path) -> JupyterBook:
    """The book whose settings stand in a folder."""
    project = _get_mapping(_load_yaml(source / "myst.yml"), "project")
    config = _load_yaml(source / "_config.yml")
    listed: Any = _load_yaml(source / "_toc.yml") or project.get("toc")
    title = project.get("title") or (config.get("title") if isinstance(config, dict) else "")
    site = _get_mapping(config, "html").get("baseurl")
    return JupyterBook(
        source,
        title.strip() if isinstance(title, str) else "",
        site if isinstance(site, str) else "",
        parse_toc(listed),
        mystmd=files.is_file(source / "myst.yml"),
    )


def _load_yaml(path: Path) -> Any:
    """What a file of settings holds; nothing where it is not there or no plain YAML."""
    if not files.is_file(path):
        return {}
    text, _ = decoding.load_text(path, path.name, decoding.MAX_CONFIG_BYTES)
    return parse_yaml(text or "") or {}


def _get_mapping(holder: Any, name: str) -> dict[str, Any]:
    value = holder.get(name) if isinstance(holder, dict) else None
    return value if isinstance(value, dict) else {}
