"""Reads a folder of Markdown and text pages that no generator manages."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, replace
from pathlib import Path
from urllib.parse import quote

from bookbound.domain.document import Page, ParsedBook, SourceNotice
from bookbound.sources import files, plain_text, titles
from bookbound.sources.includes import (
    MAX_INCLUDE_DEPTH,
    ExpandedSource,
    IncludeLoader,
    Substitution,
    blank_out_code,
    substitute,
)
from bookbound.sources.markdown.dialect import PLAIN_MARKDOWN, PLAIN_MDX
from bookbound.sources.markdown.front_matter import FrontMatter, parse_front_matter
from bookbound.sources.page_builder import RenderedPage
from bookbound.sources.page_loader import LoadedPage, load_markdown_page, load_page
from bookbound.sources.rst import draft_rst
from bookbound.sources.rst.page_draft import ProjectContext
from bookbound.sources.skipped_files import NON_PAGE_NAMES, report_other_formats, report_unlisted_files
from bookbound.sources.table_of_contents import (
    ContentsEntry,
    TableOfContents,
    find_summary_file,
    find_toctree_file,
    read_summary_file,
    read_toc_fence_order,
)
from bookbound.sources.titles import choose_book_title

_INDEX_STEMS = ("index", "_index", "readme")
_REPOSITORY_NOTES = frozenset("license licence copying contributing changelog code_of_conduct security".split())


def is_markdown_source(source: Path) -> bool:
    """Whether this is a file of Markdown, or any folder."""
    return files.is_folder(source) or source.suffix.lower() in files.MARKDOWN_SUFFIXES


def is_text_source(source: Path) -> bool:
    """Whether this is a file of text, or any folder."""
    return files.is_folder(source) or source.suffix.lower() in files.TEXT_SUFFIXES


def read_markdown(source: Path) -> ParsedBook:
    """The Markdown at `source`, and the text among it; a folder that is mostly text is one of text."""
    if files.is_folder(source):
        # The settings of GitBook, before it had others: its pages take words from each other.
        return read_plain_folder(source, includes=files.is_file(source / "book.json"))
    return _read_single_file(source, "markdown")


def read_plain_text(source: Path) -> ParsedBook:
    """The text at `source` alone."""
    if files.is_folder(source):
        return replace(read_plain_folder(source, files.TEXT_SUFFIXES), kind="text")
    return _read_single_file(source, "text")


def _read_single_file(source: Path, kind: str) -> ParsedBook:
    doc, notices = PlainFileLoader(source.parent, IncludeLoader(source.parent)).doc(source)
    pages = [_make_page(doc, Path(source.name), Path(), 0)] if doc else []
    title = pages[0].title if pages else titles.humanize_name(source.stem)
    return ParsedBook(title, kind, tuple(pages), tuple(notices))


def read_plain_folder(
    root: Path,
    suffixes: frozenset[str] = files.MARKDOWN_SUFFIXES | files.TEXT_SUFFIXES,
    table: Path | None = None,
    includes: bool = False,
) -> ParsedBook:
    """The pages below `root`, in the order of the `table` of contents that is named or found.

    Where Markdown `includes` other files, their words are read in its place.
    """
    paths, notices = files.find_files(root, suffixes)
    if any(path.suffix.lower() != ".txt" for path in paths):
        suffixes -= {".txt"}
    paths = [path for path in paths if path.suffix.lower() in suffixes and not NON_PAGE_NAMES.fullmatch(path.name)]
    notices += report_other_formats(root, suffixes)
    tables = [path for path in paths if table and path.resolve() == table.resolve()]
    summary = (
        read_summary_file(tables[0], paths, "")
        if tables
        else find_summary_file(paths) or find_toctree_file(root, paths)
    )
    home = summary.path.parent if summary else _find_book_folder(root, paths)
    kept = _select_pages(paths, root, home, summary)
    notices += summary.notices(summary.path.relative_to(root).as_posix()) if summary else []
    notices += report_unlisted_files(root, [path for path in paths if path not in kept], summary)
    loose = PlainFileLoader(root, IncludeLoader(root), includes)
    pages: list[Page] = []
    for path in _sort_pages(root, kept, summary, read_toc_fence_order(paths)):
        entry = summary.entries.get(path) if summary else None
        doc, odd = loose.doc(path)
        notices += odd
        pages += [_make_page(doc, path.relative_to(root), home.relative_to(root), len(pages), entry)] if doc else []
    texts = sum(page.file.lower().endswith((".rst", ".txt")) for page in pages)
    kind = "text" if texts * 2 > len(pages) else "markdown"
    title = (summary and summary.title) or _choose_title(loose, pages, paths)
    return ParsedBook(title, kind, tuple(pages), tuple(notices))


def _make_page(doc: LoadedPage, relative: Path, home: Path, position: int, entry: ContentsEntry | None = None) -> Page:
    """A page, named by its table of contents and addressed by its path."""
    title = doc.title or (entry and entry.label) or titles.humanize_name(_page_name(relative))
    inside = relative.relative_to(home).parts if relative.is_relative_to(home) else ()
    chapter = (entry and entry.chapter) or (titles.humanize_name(inside[0]) if len(inside) > 1 else title)
    return doc.page(_page_url(relative, home), title, chapter, position)


def _find_book_folder(root: Path, paths: list[Path]) -> Path:
    """The folder that holds the book itself, beside which stand only the notes that every repository has."""
    book = [path for path in paths if path.stem.lower() not in (*_REPOSITORY_NOTES, "readme", "summary")] or paths
    return Path(os.path.commonpath([path.parent for path in book])) if book else root


def _select_pages(paths: list[Path], root: Path, home: Path, summary: TableOfContents | None) -> set[Path]:
    """What the table of contents lists and the page that opens it; where there is none, all but repositories' notes."""
    listed = summary.entries if summary else {}
    if summary:
        pages = [path for path in paths if path in listed or (path.parent == home and _is_index_page(path))]
    else:
        pages = [path for path in paths if not _is_repository_note(path, home)] or paths

    def rank(path: Path) -> tuple[object, ...]:
        return path not in listed, not path.is_relative_to(home), _INDEX_STEMS.index(path.stem.lower()), path

    # Of the pages that would open one address only one does, and the book's own before what stands beside it.
    opening: dict[str, Path] = {}
    for path in sorted(filter(_is_index_page, pages), key=rank):
        opening.setdefault(_page_url(path.relative_to(root), home.relative_to(root)), path)
    chosen = set(opening.values())
    return {path for path in pages if path in listed or not _is_index_page(path) or path in chosen}


def _is_repository_note(path: Path, home: Path) -> bool:
    """Whether a file is about the repository: named as such in capitals, or outside of the book."""
    return path.stem.lower() in _REPOSITORY_NOTES and (path.stem.isupper() or not path.is_relative_to(home))


def _choose_title(loose: PlainFileLoader, pages: list[Page], paths: list[Path]) -> str:
    """The heading of the page at the book's own address, or of the README at its root; else the folder's name."""
    openings = [RenderedPage(page.text, page.runs, page.blocks) for page in pages if page.url == "/"]
    if not openings:
        readmes = [path for path in paths if path.parent == loose.root and path.stem.lower() == "readme"][:1]
        openings = [doc.setting for path in readmes if (doc := loose.doc(path)[0])]
    return choose_book_title(loose.root, openings)


def _is_index_page(path: Path) -> bool:
    """Whether a page is the one that its folder opens with."""
    return path.stem.lower() in _INDEX_STEMS


def _page_name(relative: Path) -> str:
    return relative.parent.name if _is_index_page(relative) and relative.parent.name else relative.stem


def _page_url(relative: Path, home: Path) -> str:
    """The address of a page: its path below the book's home, or below the root where it stands outside."""
    inside = relative.relative_to(home) if relative.is_relative_to(home) else relative
    address = inside.parent if _is_index_page(inside) else inside.with_suffix("")
    return quote("/" + ("" if address == Path() else address.as_posix()))


def _sort_pages(root: Path, paths: set[Path], summary: TableOfContents | None, fenced: dict[Path, int]) -> list[Path]:
    """By the table of contents, else README and index before their neighbours, and these as their folder lists them."""
    rank = {path: place for place, path in enumerate(summary.entries if summary else ())}

    def key(path: Path) -> tuple[object, ...]:
        relative = path.relative_to(root)
        parts: list[tuple[object, ...]] = [(1, True, 0, files.natural_sort_key(part)) for part in relative.parts]
        last = (0 if _is_index_page(relative) else 1, path not in fenced, fenced.get(path, 0), parts[-1][3])
        return rank.get(path, -1), [*parts[:-1], last]

    return sorted(paths, key=key)


@dataclass(frozen=True, slots=True)
class PlainFileLoader:
    """Sets the files below `root`, all with one shelf to take words from; Markdown takes some only if it `includes`."""

    root: Path
    shelf: IncludeLoader
    includes: bool = False

    def doc(self, path: Path) -> tuple[LoadedPage | None, list[SourceNotice]]:
        """The file at `path` by what it ends in, and what is odd about it."""
        file = path.relative_to(self.root).as_posix()
        kind = path.suffix.lower()
        if kind in files.MARKDOWN_SUFFIXES:
            return load_markdown_page(path, file, PLAIN_MDX if kind == ".mdx" else PLAIN_MARKDOWN, weave=self._woven)

        def words(source: str, front: FrontMatter) -> tuple[RenderedPage, list[SourceNotice]]:
            if kind != ".rst":
                return plain_text.render_plain_text(source), []
            draft = draft_rst(source, path, file, ProjectContext(self.shelf, self.root))
            return draft.set(lambda kind, target: None), list(draft.notices)

        return load_page(path, file, words)

    def _woven(self, source: str, path: Path, start: int) -> tuple[ExpandedSource, list[SourceNotice]]:
        woven = substitute(source, find_gitbook_includes(source, path, self.shelf, start) if self.includes else ())
        return woven, self.shelf.notices(path.relative_to(self.root).as_posix())


_GITBOOK_INCLUDE = re.compile(r"""\{%[ \t]*+include[ \t]++(?P<quote>["'])(?P<name>[^"'\n]++)(?P=quote)[ \t]*+%\}""")


def find_gitbook_includes(
    source: str, path: Path, shelf: IncludeLoader, start: int = 0, depth: int = 0
) -> list[Substitution]:
    """The includes of the page at `path` from `start` on, each with the words of the file beside it that it names.

    Where there is no such file, what is written stays.
    """
    swaps = []
    plain = blank_out_code(source)
    for found in _GITBOOK_INCLUDE.finditer(source, start):
        other = files.resolve_relative_path(path.parent, found["name"])
        there = other is not None and files.is_file(other)
        if not there and plain.startswith(" ", found.start()):
            continue  # a template that is shown, and asks for nothing
        text = shelf.text(other, found["name"]) if depth < MAX_INCLUDE_DEPTH else None
        if text is not None and other is not None:
            own = text[parse_front_matter(text).end :]
            swaps.append(
                Substitution(
                    *found.span(), substitute(own, find_gitbook_includes(own, other, shelf, depth=depth + 1)).text
                )
            )
    return swaps
