"""Reads a Jupyter Book, a MyST project or notebooks in the order of their table of contents."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from urllib.parse import quote

from bookbound.domain.document import ParsedBook, SourceNotice
from bookbound.sources import files
from bookbound.sources.generators.sphinx import assemble_book, draft_pages
from bookbound.sources.generators.sphinx.numbering import NumberingConfig
from bookbound.sources.generators.sphinx.page_order import BookDrafts
from bookbound.sources.generators.sphinx.project import has_toc_file
from bookbound.sources.includes import IncludeLoader
from bookbound.sources.rst.page_draft import ProjectContext, Toctree
from bookbound.sources.safe_config import ConfigFields, load_config
from bookbound.sources.titles import humanize_name

_PAGE_SUFFIXES = (".md", ".ipynb", ".rst")
_GROUP_KEYS = ("parts", "subtrees")
_LIST_KEYS = ("chapters", "sections", "entries", "children")
_MAX_TOC_DEPTH = 20


Toctrees = dict[str, list[Toctree]]
"""The toctrees of each page."""


def parse_jupyter_toc(value: object) -> tuple[str, Toctrees]:
    """Parse a `_toc.yml` of any version, or the `toc` of a `myst.yml`; return the root page and the toctrees."""
    toctrees: Toctrees = {}
    root = ConfigFields.of(value).text("root")
    if isinstance(value, list):
        # The first file of a list is the root; the rest is below it.
        first: dict[str, Any] = next((item for item in value if ConfigFields.of(item).text("file")), {})
        root = ConfigFields.of(first).text("file")
        value = {**first, "parts": [item for item in value if item is not first]} if first else {}
    _collect_toctrees(toctrees, root, value, 0)
    return root, toctrees


def _collect_toctrees(toctrees: Toctrees, page: str, entry: object, depth: int) -> None:
    """Collect the toctrees of a page and of the pages in them."""
    for caption, items in _iterate_lists(ConfigFields.of(entry)):
        entries = []
        for item in items if depth < _MAX_TOC_DEPTH else ():
            fields = ConfigFields.of({"file": item} if isinstance(item, str) else item)
            file = fields.text("file") or fields.text("pattern") or fields.text("glob")
            if file:
                entries.append((fields.text("title"), f"/{file}"))
                _collect_toctrees(toctrees, file, item, depth + 1)
            elif not fields.text("url"):
                _collect_toctrees(toctrees, page, {"parts": [item]}, depth + 1)
        if entries:
            toctrees.setdefault(page, []).append(Toctree(tuple(entries), caption, is_glob=True))


def _iterate_lists(entry: ConfigFields) -> Iterator[tuple[str, list[Any]]]:
    """Yield the lists of pages in an entry, each with its caption."""
    for key in _LIST_KEYS:
        yield "", entry.list_items(key)
    single: list[Any] = []
    for group in (group for key in _GROUP_KEYS for group in entry.list_items(key)):
        fields = ConfigFields.of(group)
        items = [item for key in _LIST_KEYS for item in fields.list_items(key)]
        if fields.text("file"):
            single.append(group)
        elif items:
            yield "", single
            yield fields.text("caption") or fields.text("part") or fields.text("title"), items
            single = []
    yield "", single


@dataclass(frozen=True, slots=True)
class JupyterBook:
    """The settings of a book; `uses_mystmd` means that the tools of MyST build it."""

    title: str = ""
    url: str = ""
    root: str = ""
    toctrees: Toctrees = field(default_factory=dict)
    uses_mystmd: bool = False

    def make_url(self, name: str, root: str) -> str:
        """Return the URL of a page; MyST leaves out folders, leading numbers and endings."""
        if not self.uses_mystmd:
            return f"{self.url.rstrip('/')}/{quote(name)}.html"
        stem = re.sub(r"^[\d_.-]+(?=[^\d_.-])", "", name.rpartition("/")[2].lower())
        slug = re.sub(r"[^a-z0-9]+", "-", stem).strip("-")
        return f"{self.url.rstrip('/')}/{'' if name == root else slug}"


def is_jupyter_source(source: Path) -> bool:
    """Whether this is a notebook, a folder of notebooks, or a folder with the table of contents of a Jupyter Book."""
    if not files.is_folder(source):
        return source.suffix.lower() == ".ipynb"
    if has_toc_file(source):
        return True
    paths, _ = files.find_files(source, frozenset(_PAGE_SUFFIXES) | files.DOCUMENT_SUFFIXES)
    if any(path.suffix.lower() in files.DOCUMENT_SUFFIXES for path in paths):
        return False  # the reader of mixed folders reads both
    return sum(path.suffix.lower() == ".ipynb" for path in paths) * 2 > len(paths)


def read_jupyter(source: Path) -> ParsedBook:
    """Read the book or the notebook at `source`."""
    if not files.is_folder(source):
        return _read_book(source.parent, JupyterBook(), [source], [])
    paths, notices = files.find_files(source, frozenset(_PAGE_SUFFIXES))
    notices += [] if has_toc_file(source) else files.report_other_formats(source, frozenset(_PAGE_SUFFIXES))
    return _read_book(source, _load_settings(source), paths, notices)


def _read_book(folder: Path, settings: JupyterBook, paths: list[Path], notices: list[SourceNotice]) -> ParsedBook:
    paths = sorted(paths, key=lambda path: _PAGE_SUFFIXES.index(path.suffix.lower()))
    named_paths = [(path.relative_to(folder).with_suffix("").as_posix(), path) for path in paths]
    project = ProjectContext(IncludeLoader(folder), folder)
    drafts, draft_notices = draft_pages(named_paths, folder, project, settings.uses_mystmd)
    for name, draft in drafts.items():
        # Only the table of contents lists pages.
        outline = tuple(item for item in draft.outline if item.kind != "toctree")
        drafts[name] = replace(draft, toctrees=(), outline=outline)
    book = BookDrafts(drafts, _PAGE_SUFFIXES)
    root = book.resolve(settings.root, "") if settings.root else ""
    for name, toctrees in settings.toctrees.items():
        if page := book.resolve(name, ""):
            drafts[page] = replace(drafts[page], toctrees=tuple(toctrees))
    assembled = assemble_book(
        book, root, NumberingConfig(), lambda name: settings.make_url(name, root), lambda name: not root, {}
    )
    pages = assembled.pages
    notices += draft_notices
    if assembled.dropped:
        message = files.describe_group(assembled.dropped, "not listed and left out", "page")
        notices.append(SourceNotice("_toc.yml", message))
    notices += assembled.notices
    missing = [target.lstrip("/") for page in assembled.kept for target in book.missing(page.name)]
    if missing:
        message = f"lists pages that do not exist: {files.join_first_names(missing)}"
        notices.append(SourceNotice("_toc.yml", message, lost=True))
    title = settings.title or (pages[0].title if len(pages) == 1 else humanize_name(folder.resolve().name))
    return ParsedBook(title, "jupyter", tuple(pages), tuple(notices))


def _load_settings(folder: Path) -> JupyterBook:
    project = ConfigFields.of(_load_yaml(folder / "myst.yml")).section("project")
    config = ConfigFields.of(_load_yaml(folder / "_config.yml"))
    return JupyterBook(
        project.text("title") or config.text("title"),
        config.section("html").text("baseurl"),
        *parse_jupyter_toc(_load_yaml(folder / "_toc.yml") or project.get("toc")),
        uses_mystmd=files.is_file(folder / "myst.yml"),
    )


def _load_yaml(path: Path) -> object:
    return load_config(path) if files.is_file(path) else None
