"""Reads a folder of Markdown and text pages that no generator manages, or that a GitBook lists."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from urllib.parse import quote

from bookbound.domain.document import Page, ParsedBook, SourceNotice
from bookbound.sources import files, plain_text
from bookbound.sources.file_loader import Loaded
from bookbound.sources.includes import MAX_INCLUDE_DEPTH, IncludeLoader, Substitution, blank_out_code, substitute
from bookbound.sources.markdown.dialect import PLAIN_MARKDOWN, PLAIN_MDX
from bookbound.sources.page_builder import RenderedPage
from bookbound.sources.page_loader import FrontMatter, LoadedPage, load_markdown_page, load_page, parse_front_matter
from bookbound.sources.safe_config import ConfigFields, load_config
from bookbound.sources.table_of_contents import (
    ContentsEntry,
    TableOfContents,
    find_summary_file,
    find_toctree_file,
    read_summary_file,
    read_toc_fence_order,
)
from bookbound.sources.titles import choose_book_title, humanize_name

_SUMMARY_FILE = "SUMMARY.md"
INDEX_STEMS = ("index", "_index", "readme")
_REPOSITORY_FILES = frozenset("license licence copying contributing changelog code_of_conduct security".split())
_GITBOOK_INCLUDE = re.compile(r"""\{%[ \t]*+include[ \t]++(?P<quote>["'])(?P<name>[^"'\n]++)(?P=quote)[ \t]*+%\}""")


def is_markdown_source(source: Path) -> bool:
    """Whether this is a Markdown file or any folder."""
    return files.is_folder(source) or source.suffix.lower() in files.MARKDOWN_SUFFIXES


def is_text_source(source: Path) -> bool:
    """Whether this is a text file or any folder."""
    return files.is_folder(source) or source.suffix.lower() in files.TEXT_SUFFIXES


def has_legacy_gitbook_config(source: Path) -> bool:
    """Whether a folder has the `book.json` that GitBook used before `.gitbook.yaml`."""
    return files.is_file(source / "book.json")


def read_markdown(source: Path) -> ParsedBook:
    """Read a Markdown file, or the Markdown and text files of a folder."""
    if not files.is_folder(source):
        return _read_single_file(source, "markdown")
    return read_plain_folder(source, expands_includes=has_legacy_gitbook_config(source))


def read_text(source: Path) -> ParsedBook:
    """Read a text file, or only the text files of a folder."""
    if files.is_folder(source):
        return replace(read_plain_folder(source, files.TEXT_SUFFIXES), kind="text")
    return _read_single_file(source, "text")


def is_gitbook_source(source: Path) -> bool:
    """Whether this folder has a SUMMARY.md or a configuration that names one."""
    is_listed = files.is_folder(source) and files.is_file(source / _SUMMARY_FILE)
    return is_listed or (files.is_folder(source) and _find_summary_path(source) is not None)


def read_gitbook(source: Path) -> ParsedBook:
    book = read_plain_folder(source, contents=_find_summary_path(source), expands_includes=True)
    return replace(book, kind="gitbook")


def _find_summary_path(source: Path) -> Path | None:
    """Return the table of contents that `.gitbook.yaml` names, if it is inside the folder."""
    config = load_config(source / ".gitbook.yaml")
    fields = ConfigFields.of(config)
    name = fields.section("structure").text("summary") or _SUMMARY_FILE
    home = files.resolve_relative_path(source, fields.text("root").lstrip("/") or ".")
    path = files.resolve_relative_path(home, name) if home and isinstance(config, dict) else None
    return path if path and files.is_file(path) and files.is_inside(path, source) else None


def _read_single_file(source: Path, kind: str) -> ParsedBook:
    loaded, notices = PlainFileLoader(source.parent, IncludeLoader(source.parent)).load(source)
    pages = (make_page(loaded, Path(source.name), Path(), 0),) if loaded else ()
    return ParsedBook(pages[0].title if pages else humanize_name(source.stem), kind, pages, tuple(notices))


def read_plain_folder(
    root: Path,
    suffixes: frozenset[str] = files.MARKDOWN_SUFFIXES | files.TEXT_SUFFIXES,
    contents: Path | None = None,
    expands_includes: bool = False,
) -> ParsedBook:
    """Read the pages below `root` in the order of the table of contents at `contents`, or of one that is found.

    If `expands_includes` is true, Markdown pages can include other files as GitBook does.
    """
    paths, notices = files.find_files(root, suffixes)
    if any(path.suffix.lower() != ".txt" for path in paths):
        suffixes -= {".txt"}
    paths = [p for p in paths if p.suffix.lower() in suffixes and not files.NON_PAGE_NAMES.fullmatch(p.name)]
    notices += files.report_other_formats(root, suffixes)
    named = next((path for path in paths if contents and path.resolve() == contents.resolve()), None)
    found = read_summary_file(named, paths, "") if named else find_summary_file(paths)
    table = found or find_toctree_file(root, paths)
    home = table.path.parent if table else find_book_folder(root, paths)
    selected = select_pages(paths, root, home, table)
    notices += table.notices(table.path.relative_to(root).as_posix()) if table else []
    skipped = [path for path in paths if path not in selected]
    notices += files.report_unlisted_files(root, skipped, table.path if table else None)
    loader = PlainFileLoader(root, IncludeLoader(root), expands_includes)
    pages: list[Page] = []
    for path in sort_pages(root, selected, table, read_toc_fence_order(paths)):
        entry = table.entries.get(path) if table else None
        page, page_notices = loader.load(path)
        notices += page_notices
        pages += [make_page(page, path.relative_to(root), home.relative_to(root), len(pages), entry)] if page else []
    texts = sum(page.file.lower().endswith((".rst", ".txt")) for page in pages)
    kind = "text" if texts * 2 > len(pages) else "markdown"
    title = (table and table.title) or choose_folder_title(loader, pages, paths)
    return ParsedBook(title, kind, tuple(pages), tuple(notices))


def make_page(
    loaded: LoadedPage, relative: Path, home: Path, position: int, entry: ContentsEntry | None = None
) -> Page:
    folder = relative.parent.name if is_index_page(relative) else ""
    title = loaded.title or (entry and entry.label) or humanize_name(folder or relative.stem)
    inside = relative.relative_to(home).parts if relative.is_relative_to(home) else ()
    chapter = (entry and entry.chapter) or (humanize_name(inside[0]) if len(inside) > 1 else title)
    return loaded.make_page(_page_url(relative, home), title, chapter, position)


def find_book_folder(root: Path, paths: list[Path]) -> Path:
    """Return the folder that contains the book; only files about the repository are outside it."""
    book = [path for path in paths if path.stem.lower() not in (*_REPOSITORY_FILES, "readme", "summary")] or paths
    return Path(os.path.commonpath([path.parent for path in book])) if book else root


def select_pages(paths: list[Path], root: Path, home: Path, table: TableOfContents | None) -> set[Path]:
    """Select the listed pages and the index page next to the table; without a table, all but repository files."""
    listed = table.entries if table else {}
    if table:
        pages = [path for path in paths if path in listed or (path.parent == home and is_index_page(path))]
    else:
        # In the book's folder, only names in capitals are about the repository.
        named = (path for path in paths if path.stem.lower() in _REPOSITORY_FILES)
        others = {path for path in named if path.stem.isupper() or not path.is_relative_to(home)}
        pages = [path for path in paths if path not in others] or paths

    def rank(path: Path) -> tuple[object, ...]:
        return path not in listed, not path.is_relative_to(home), INDEX_STEMS.index(path.stem.lower()), path

    # Only one index page can have a URL; pages of the book come before pages outside it.
    by_url: dict[str, Path] = {}
    for path in sorted(filter(is_index_page, pages), key=rank):
        by_url.setdefault(_page_url(path.relative_to(root), home.relative_to(root)), path)
    chosen = set(by_url.values())
    return {path for path in pages if path in listed or not is_index_page(path) or path in chosen}


def choose_folder_title(loader: PlainFileLoader, pages: list[Page], paths: list[Path]) -> str:
    """Return the title of the page at the book's own URL, else of the README in its folder, else the folder's name."""
    openings = [page for page in pages if page.url == "/"]
    if openings:
        return choose_book_title(loader.root, openings)
    readmes = [path for path in paths if path.parent == loader.root and path.stem.lower() == "readme"][:1]
    return choose_book_title(loader.root, [page.rendered for path in readmes if (page := loader.load(path).value)])


def is_index_page(path: Path) -> bool:
    return path.stem.lower() in INDEX_STEMS


def _page_url(relative: Path, home: Path) -> str:
    """Return a page's path below the book's folder, or below the root for a page outside that folder."""
    inside = relative.relative_to(home) if relative.is_relative_to(home) else relative
    address = inside.parent if is_index_page(inside) else inside.with_suffix("")
    return quote("/" + ("" if address == Path() else address.as_posix()))


def sort_pages(root: Path, paths: set[Path], table: TableOfContents | None, fenced: dict[Path, int]) -> list[Path]:
    """Sort by the table of contents; without one, put index pages first and follow the `toc` block of each folder."""
    rank = {path: position for position, path in enumerate(table.entries if table else ())}

    def key(path: Path) -> tuple[object, ...]:
        relative = path.relative_to(root)
        parts: list[tuple[object, ...]] = [(1, True, 0, files.natural_sort_key(part)) for part in relative.parts]
        last = (0 if is_index_page(relative) else 1, path not in fenced, fenced.get(path, 0), parts[-1][3])
        return rank.get(path, -1), [*parts[:-1], last]

    return sorted(paths, key=key)


@dataclass(frozen=True, slots=True)
class PlainFileLoader:
    """Loads the files below `root`; Markdown can include other files if `expands_includes` is true."""

    root: Path
    includes: IncludeLoader
    expands_includes: bool = False

    def load(self, path: Path) -> Loaded[LoadedPage]:
        """Load a file by its suffix."""
        file = path.relative_to(self.root).as_posix()
        suffix = path.suffix.lower()
        if suffix in files.MARKDOWN_SUFFIXES:
            dialect = PLAIN_MDX if suffix == ".mdx" else PLAIN_MARKDOWN
            find_includes = partial(find_gitbook_includes, includes=self.includes) if self.expands_includes else None
            return load_markdown_page(path, file, dialect, find_includes=find_includes, includes=self.includes)

        def render(source: str, front: FrontMatter) -> tuple[RenderedPage, list[SourceNotice]]:
            if suffix != ".rst":
                return plain_text.render_plain_text(source), []
            from bookbound.sources.rst import draft_rst  # imports docutils, which Markdown does not need
            from bookbound.sources.rst.page_draft import UNRESOLVED, ProjectContext

            draft = draft_rst(source, path, file, ProjectContext(self.includes, self.root))
            return draft.render(UNRESOLVED), list(draft.notices)

        return load_page(path, file, render)


def find_gitbook_includes(
    source: str, path: Path, start: int = 0, *, includes: IncludeLoader, depth: int = 0
) -> Iterator[Substitution]:
    """Yield the includes of a page from `start` on; an include of a file that does not exist stays as it is."""
    plain = blank_out_code(source)
    for match in _GITBOOK_INCLUDE.finditer(source, start):
        other = files.resolve_relative_path(path.parent, match["name"])
        exists = other is not None and files.is_file(other)
        if not exists and plain.startswith(" ", match.start()):
            continue  # an example in code
        text = includes.load(other, match["name"]) if depth < MAX_INCLUDE_DEPTH else None
        if text is not None and other is not None:
            body = text[parse_front_matter(text).end :]
            nested = find_gitbook_includes(body, other, includes=includes, depth=depth + 1)
            yield Substitution(*match.span(), substitute(body, nested).text)
