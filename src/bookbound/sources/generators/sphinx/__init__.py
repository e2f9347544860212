"""Reads a Sphinx project: drafts, orders, numbers and renders its pages, as it does those of a Jupyter Book."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote

from bookbound.domain.document import Page, ParsedBook, SourceNotice
from bookbound.sources import file_loader, files
from bookbound.sources.generators.sphinx.numbering import BookNumbering, NumberingConfig
from bookbound.sources.generators.sphinx.page_order import GENERATED_PAGE_TITLES, BookDrafts, OrderedPage, PageOrder
from bookbound.sources.generators.sphinx.project import (
    SphinxProject,
    find_sphinx_project,
    find_sphinx_root,
    has_toc_file,
)
from bookbound.sources.html.search_index_formats import Inventory
from bookbound.sources.includes import IncludeLoader
from bookbound.sources.myst import draft_myst
from bookbound.sources.notebook import load_notebook_as_markdown
from bookbound.sources.rst import draft_rst
from bookbound.sources.rst.page_draft import PageDraft, ProjectContext, References
from bookbound.sources.rst.shared_markup import TITLE_AND_TARGET
from bookbound.sources.titles import MAX_TITLE_CHARS, choose_book_title

_MYST_SUFFIXES = frozenset((".md", ".markdown", ".ipynb"))


def is_sphinx_source(source: Path) -> bool:
    """Whether a Sphinx project is in this folder or below it; one with a `_toc.yml` is a Jupyter Book."""
    return files.is_folder(source) and not has_toc_file(source) and find_sphinx_project(source) is not None


def is_sphinx_folder(source: Path) -> bool:
    """Whether a folder has a project in one of the usual places, not only somewhere below."""
    return find_sphinx_root(source) is not None


def read_sphinx(source: Path) -> ParsedBook:
    """Read the Sphinx project in `source` or below it."""
    project = find_sphinx_project(source) or SphinxProject(source)
    config = project.config
    paths, others, notices = project.find_files()
    context = ProjectContext(IncludeLoader(source), project.folder, config.markup)
    named_paths = [(project.page_name(path), path) for path in (*paths, *others)]
    drafts, draft_notices = draft_pages(named_paths, source, context)
    book = BookDrafts(drafts, config.suffixes)
    own = {name for name, _ in named_paths[: len(paths)]}
    assembled = assemble_book(
        book, config.root, config.numbering, project.make_url, own.__contains__, project.load_inventory()
    )
    notices += [*draft_notices, *assembled.notices, *_report_toctrees(book, assembled.kept, config.root)]
    opening = (page for page in assembled.pages if page.url == project.make_url(config.root))
    title = config.title or choose_book_title(source, opening)
    return ParsedBook(title, "sphinx", tuple(assembled.pages), (*project.notices, *notices))


def _report_toctrees(book: BookDrafts, kept: list[OrderedPage], root: str) -> Iterator[SourceNotice]:
    """Report the pages that no toctree lists and the toctree entries without a page."""
    unlisted = [page.name for page in kept if not page.is_listed and not book.drafts[page.name].is_orphan]
    if unlisted and root in book.drafts:
        yield SourceNotice(book.drafts[root].file, files.describe_group(unlisted, "in no toctree", "page"))
    for page in kept:
        if missing := book.missing(page.name):
            message = f"lists pages that do not exist: {files.join_first_names(missing)}"
            yield SourceNotice(book.drafts[page.name].file, message, lost=True)


def draft_pages(
    paths: Iterable[tuple[str, Path]], source: Path, project: ProjectContext, uses_mystmd: bool = False
) -> tuple[dict[str, PageDraft], list[SourceNotice]]:
    """Draft named files; of several with one name, the first that can be read counts."""
    drafts: dict[str, PageDraft] = {}
    notices: list[SourceNotice] = []
    for name, path in paths:
        if name in drafts:
            continue
        file, suffix = path.relative_to(source).as_posix(), path.suffix.lower()
        load = load_notebook_as_markdown if suffix == ".ipynb" else file_loader.load_text
        text, file_notices = load(path, file)
        notices += file_notices
        if text is not None and suffix in _MYST_SUFFIXES:
            drafts[name] = draft_myst(text, path, file, project, uses_mystmd)
        elif text is not None:
            drafts[name] = draft_rst(text, path, file, project)
        notices += drafts[name].notices if name in drafts else ()
    return drafts, notices


class AssembledBook(NamedTuple):
    """The pages of a book as they are rendered, those that are kept in their order, and the names of the others."""

    pages: list[Page]
    kept: list[OrderedPage]
    dropped: list[str]
    notices: list[SourceNotice]


def assemble_book(
    book: BookDrafts,
    root: str,
    config: NumberingConfig,
    make_url: Callable[[str], str],
    keeps_unlisted: Callable[[str], bool],
    inventory: Inventory,
) -> AssembledBook:
    """Order, number and render the pages that a toctree lists and the others that the book keeps."""
    numbering = BookNumbering(book, root, config)
    ordered = PageOrder(book, numbering.title_numbers()).pages(root)
    kept = [page for page in ordered if page.is_listed or keeps_unlisted(page.name)]
    labels = GENERATED_PAGE_TITLES | {name: entry.title for name, entry in inventory.get("std:label", {}).items()}
    targets: dict[str, tuple[str, str]] = {}
    for name, draft in book.drafts.items():
        labels |= draft.labels
        targets |= {label: (name, target) for label, target in draft.targets.items()}
    pages: list[Page] = []
    notices: list[SourceNotice] = []
    for name, title, chapter, _ in kept:
        draft = book.drafts[name]
        rendered = draft.render(_PageReferences(name, book, numbering, labels, targets))
        if rendered.text:
            pages.append(Page(draft.file, make_url(name), title, chapter, len(pages), draft.source, *rendered))
        else:
            notices.append(SourceNotice(draft.file, "shows no text; left out"))
    dropped = [page.name for page in ordered if not page.is_listed and not keeps_unlisted(page.name)]
    return AssembledBook(pages, kept, dropped, notices)


@dataclass(frozen=True, slots=True)
class _PageReferences(References):
    """Resolves the references of one page among all pages of its book."""

    page: str
    book: BookDrafts
    numbering: BookNumbering
    labels: Mapping[str, str]
    targets: Mapping[str, tuple[str, str]]

    def title(self, kind: str, target: str) -> str | None:
        if kind == "ref":
            title = self.labels.get(_normalize_label(target))
        elif kind in ("numref", "eq"):
            title = self._find_number(kind, target)
        else:
            name = self.book.resolve(target, self.page)
            title = self.book.title(name) if name else None
        return title[:MAX_TITLE_CHARS] if title else None

    def link(self, kind: str, target: str) -> str:
        if kind == "doc":
            name, anchor = self.book.resolve(target, self.page), ""
        else:
            name, anchor = self.targets.get(_normalize_label(target), ("", ""))
        return f"/{quote(self.book.drafts[name].file)}#{quote(anchor)}".removesuffix("#") if name else ""

    def number(self, target: str) -> str:
        return self.numbering.format_number(self.page, target)[:MAX_TITLE_CHARS]

    def _find_number(self, kind: str, target: str) -> str | None:
        titled = TITLE_AND_TARGET.match(target)
        title, label = (titled["title"], titled["target"]) if titled else ("", target)
        location = self.targets.get(_normalize_label(label) if kind == "numref" else f"equation-{label}")
        if not location:
            return None
        is_formula = kind == "eq"
        numbering = self.numbering
        return numbering.format_number(*location) if is_formula else numbering.format_reference(*location, title)


def _normalize_label(label: str) -> str:
    return " ".join(label.lower().split())
