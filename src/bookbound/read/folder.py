"""A folder of Markdown or text pages, in the order of its table of contents or of its names."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from urllib.parse import quote

from bookbound.book import Manuscript, Notice, Page
from bookbound.read import endings, files
from bookbound.read.doc import Doc
from bookbound.read.galley import Setting
from bookbound.read.loose import Loose
from bookbound.read.others import NOT_PAGES, others
from bookbound.read.summary import Entry, Summary, find_summary, read_summary
from bookbound.read.titles import book_title
from bookbound.read.toctree import fenced_order, find_toctree
from bookbound.read.woven import Shelf

_INDEX = ("index", "_index", "readme")
_NOTES = frozenset("license licence copying contributing changelog code_of_conduct security".split())


def knows_markdown(source: Path) -> bool:
    """Whether this is a file of Markdown, or any folder."""
    return files.is_folder(source) or source.suffix.lower() in endings.MARKDOWN


def knows_text(source: Path) -> bool:
    """Whether this is a file of text, or any folder."""
    return files.is_folder(source) or source.suffix.lower() in endings.TEXT


def read_markdown(source: Path) -> Manuscript:
    """The Markdown at `source`, and the text among it; a folder that is mostly text is one of text."""
    if files.is_folder(source):
        # The settings of GitBook, before it had others: its pages take words from each other.
        return read_folder(source, includes=files.is_file(source / "book.json"))
    return _read_file(source, "markdown")


def read_text(source: Path) -> Manuscript:
    """The text at `source` alone."""
    if files.is_folder(source):
        return replace(read_folder(source, endings.TEXT), kind="text")
    return _read_file(source, "text")


def _read_file(source: Path, kind: str) -> Manuscript:
    doc, notices = Loose(source.parent, Shelf(source.parent)).doc(source)
    pages = [_page(doc, Path(source.name), Path(), 0)] if doc else []
    title = pages[0].title if pages else files.readable(source.stem)
    return Manuscript(title, kind, tuple(pages), tuple(notices))


def read_folder(
    root: Path,
    suffixes: frozenset[str] = endings.MARKDOWN | endings.TEXT,
    table: Path | None = None,
    includes: bool = False,
) -> Manuscript:
    """The pages below `root`, in the order of the `table` of contents that is named or found.

    Where Markdown `includes` other files, their words are read in its place.
    """
    paths, notices = files.find(root, suffixes)
    if any(path.suffix.lower() != ".txt" for path in paths):
        suffixes -= {".txt"}
    paths = [path for path in paths if path.suffix.lower() in suffixes and not NOT_PAGES.fullmatch(path.name)]
    notices += others(root, suffixes)
    tables = [path for path in paths if table and path.resolve() == table.resolve()]
    summary = read_summary(tables[0], paths, "") if tables else find_summary(paths) or find_toctree(root, paths)
    home = summary.path.parent if summary else _home(root, paths)
    kept = _in_book(paths, root, home, summary)
    notices += summary.notices(summary.path.relative_to(root).as_posix()) if summary else []
    notices += left_out(root, [path for path in paths if path not in kept], summary)
    loose = Loose(root, Shelf(root), includes)
    pages: list[Page] = []
    for path in _in_order(root, kept, summary, fenced_order(paths)):
        entry = summary.entries.get(path) if summary else None
        doc, odd = loose.doc(path)
        notices += odd
        pages += [_page(doc, path.relative_to(root), home.relative_to(root), len(pages), entry)] if doc else []
    texts = sum(page.file.lower().endswith((".rst", ".txt")) for page in pages)
    kind = "text" if texts * 2 > len(pages) else "markdown"
    title = (summary and summary.title) or _title(loose, pages, paths)
    return Manuscript(title, kind, tuple(pages), tuple(notices))


def _page(doc: Doc, relative: Path, home: Path, position: int, entry: Entry | None = None) -> Page:
    """A page, named by its table of contents and addressed by its path."""
    title = doc.title or (entry and entry.label) or files.readable(_named(relative))
    inside = relative.relative_to(home).parts if relative.is_relative_to(home) else ()
    chapter = (entry and entry.chapter) or (files.readable(inside[0]) if len(inside) > 1 else title)
    return doc.page(_url(relative, home), title, chapter, position)


def _home(root: Path, paths: list[Path]) -> Path:
    """The folder that holds the book itself, beside which stand only the notes that every repository has."""
    book = [path for path in paths if path.stem.lower() not in (*_NOTES, "readme", "summary")] or paths
    return Path(os.path.commonpath([path.parent for path in book])) if book else root


def _in_book(paths: list[Path], root: Path, home: Path, summary: Summary | None) -> set[Path]:
    """What the table of contents lists and the page that opens it; where there is none, all but repositories' notes."""
    listed = summary.entries if summary else {}
    if summary:
        pages = [path for path in paths if path in listed or (path.parent == home and _opens(path))]
    else:
        pages = [path for path in paths if not _is_note(path, home)] or paths

    def rank(path: Path) -> tuple[object, ...]:
        return path not in listed, not path.is_relative_to(home), _INDEX.index(path.stem.lower()), path

    # Of the pages that would open one address only one does, and the book's own before what stands beside it.
    opening: dict[str, Path] = {}
    for path in sorted(filter(_opens, pages), key=rank):
        opening.setdefault(_url(path.relative_to(root), home.relative_to(root)), path)
    chosen = set(opening.values())
    return {path for path in pages if path in listed or not _opens(path) or path in chosen}


def _is_note(path: Path, home: Path) -> bool:
    """Whether a file is about the repository: named as such in capitals, or outside of the book."""
    return path.stem.lower() in _NOTES and (path.stem.isupper() or not path.is_relative_to(home))


def left_out(root: Path, paths: list[Path], summary: Summary | None) -> list[Notice]:
    """One notice for all the files that are no pages of the book."""
    names = [path.relative_to(root).as_posix() for path in paths if not summary or path != summary.path]
    if not names:
        return []
    file = summary.path.relative_to(root).as_posix() if summary else "."
    why = "not listed here" if summary else "about the repository, or with the address of another opening page"
    count = "1 file" if len(names) == 1 else f"{len(names)} files"
    return [Notice(file, f"{count} left out, {why}: {files.first_of(names)}")]


def _title(loose: Loose, pages: list[Page], paths: list[Path]) -> str:
    """The heading of the page at the book's own address, or of the README at its root; else the folder's name."""
    openings = [Setting(page.text, page.runs, page.blocks) for page in pages if page.url == "/"]
    if not openings:
        readmes = [path for path in paths if path.parent == loose.root and path.stem.lower() == "readme"][:1]
        openings = [doc.setting for path in readmes if (doc := loose.doc(path)[0])]
    return book_title(loose.root, openings)


def _opens(path: Path) -> bool:
    """Whether a page is the one that its folder opens with."""
    return path.stem.lower() in _INDEX


def _named(relative: Path) -> str:
    return relative.parent.name if _opens(relative) and relative.parent.name else relative.stem


def _url(relative: Path, home: Path) -> str:
    """The address of a page: its path below the book's home, or below the root where it stands outside."""
    inside = relative.relative_to(home) if relative.is_relative_to(home) else relative
    address = inside.parent if _opens(inside) else inside.with_suffix("")
    return quote("/" + ("" if address == Path() else address.as_posix()))


def _in_order(root: Path, paths: set[Path], summary: Summary | None, fenced: dict[Path, int]) -> list[Path]:
    """By the table of contents, else README and index before their neighbours, and these as their folder lists them."""
    rank = {path: place for place, path in enumerate(summary.entries if summary else ())}

    def key(path: Path) -> tuple[object, ...]:
        relative = path.relative_to(root)
        parts: list[tuple[object, ...]] = [(1, True, 0, files.natural(part)) for part in relative.parts]
        last = (0 if _opens(relative) else 1, path not in fenced, fenced.get(path, 0), parts[-1][3])
        return rank.get(path, -1), [*parts[:-1], last]

    return sorted(paths, key=key)
