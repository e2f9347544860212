"""Reads a Sphinx project: its pages, their URLs and their toctree order."""

from __future__ import annotations

from pathlib import Path

from bookbound.domain.document import ParsedBook, SourceNotice
from bookbound.sources import files
from bookbound.sources.generators.sphinx.assembly import assemble_book, describe_pages, draft_pages
from bookbound.sources.generators.sphinx.page_order import BookDrafts, OrderedPage
from bookbound.sources.generators.sphinx.project import (
    SphinxProject,
    find_sphinx_project,
    find_sphinx_root,
    has_toc_file,
)
from bookbound.sources.includes import IncludeLoader
from bookbound.sources.page_builder import RenderedPage
from bookbound.sources.rst.page_draft import ProjectContext
from bookbound.sources.titles import choose_book_title


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
    title = config.title
    if not title:
        opening = (page for page in assembled.pages if page.url == project.make_url(config.root))
        title = choose_book_title(source, [RenderedPage(page.text, page.spans, page.blocks) for page in opening])
    return ParsedBook(title, "sphinx", tuple(assembled.pages), (*project.notices, *notices))


def _report_toctrees(book: BookDrafts, kept: list[OrderedPage], root: str) -> list[SourceNotice]:
    """Report the pages that no toctree lists and the toctree entries without a page."""
    notices = []
    unlisted = [page.name for page in kept if not page.is_listed and not book.drafts[page.name].is_orphan]
    if unlisted and root in book.drafts:
        notices.append(SourceNotice(book.drafts[root].file, describe_pages(unlisted, "in no toctree")))
    for page in kept:
        if missing := book.missing(page.name):
            message = f"lists pages that do not exist: {files.join_first_names(missing)}"
            notices.append(SourceNotice(book.drafts[page.name].file, message, lost=True))
    return notices
