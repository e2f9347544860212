"""The kinds of books, each with what its sources look like and how they are read."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from bookbound.book import Manuscript
from bookbound.errors import BadSource
from bookbound.read import decode, files
from bookbound.read.docusaurus import editions, knows_docusaurus, read_docusaurus
from bookbound.read.epub import knows_epub, read_epub
from bookbound.read.folder import (
    knows_markdown,
    knows_text,
    read_markdown,
    read_text,
)
from bookbound.read.gitbook import knows_gitbook, read_gitbook
from bookbound.read.hugo import knows_hugo, languages, read_hugo
from bookbound.read.jupyter import knows_jupyter, lists_pages, read_jupyter
from bookbound.read.mdbook import is_mdbook, knows_mdbook, read_mdbook
from bookbound.read.mkdocs import knows_mkdocs, read_mkdocs
from bookbound.read.pdf import knows_pdf, read_pdf
from bookbound.read.site import knows_html, read_html
from bookbound.read.sphinx import is_sphinx, knows_sphinx, read_sphinx


class Reader(NamedTuple):
    """Reads one kind of book; `knows` says whether a source looks like one, and `sign` what it looks for.

    It looks at names and configuration and, where these do not tell, at the page that opens the source or at the first
    pages for a list of others: so many alone, however large the source is.

    `editions` are the versions of the book that the source holds, where it keeps several; any may be named to `read`.
    `own` says whether a generator's sign stands in the source itself, and not only in folders below; a `single` book is
    one file.
    """

    kind: str
    knows: Callable[[Path], bool]
    read: Callable[..., Manuscript]
    sign: str = ""
    editions: Callable[[Path], list[str]] = lambda source: []
    own: Callable[[Path], bool] = lambda source: False
    single: bool = False


# The first that knows a source reads it: what a generator configures comes before what any folder may hold.
READERS: tuple[Reader, ...] = (
    Reader(
        "docusaurus",
        knows_docusaurus,
        read_docusaurus,
        "docusaurus.config, _category_ files or website/docs",
        editions,
        own=knows_docusaurus,
    ),
    Reader("mkdocs", knows_mkdocs, read_mkdocs, "mkdocs.yml", own=knows_mkdocs),
    Reader("hugo", knows_hugo, read_hugo, "hugo.toml or its like beside content", languages, own=knows_hugo),
    Reader("mdbook", knows_mdbook, read_mdbook, "book.toml and its SUMMARY.md", own=is_mdbook),
    Reader("sphinx", knows_sphinx, read_sphinx, "conf.py and its index, or pages with a toctree", own=is_sphinx),
    Reader(
        "jupyter",
        knows_jupyter,
        read_jupyter,
        "_toc.yml, myst.yml, or notebooks that end in .ipynb",
        own=lists_pages,
    ),
    Reader("epub", knows_epub, read_epub, "a file that ends in .epub", single=True),
    Reader("pdf", knows_pdf, read_pdf, "a file that ends in .pdf", single=True),
    Reader("html", knows_html, read_html, "index.html of a built site"),
    Reader("gitbook", knows_gitbook, read_gitbook, "SUMMARY.md or .gitbook.yaml", own=knows_gitbook),
    Reader(
        "markdown",
        knows_markdown,
        read_markdown,
        "pages that end in .md, .mdx or .markdown",
        own=lambda source: files.is_file(source / "book.json"),  # GitBook's settings before .gitbook.yaml
    ),
    Reader("text", knows_text, read_text, "pages that end in .rst or .txt"),
)


def reader_for(source: Path, kind: str | None = None) -> Reader:
    """The reader of this kind or, where none is named, the first that knows the source, if that is one book."""
    if kind is not None:
        return _named(source, kind)
    found = _knowing(source)
    if found is None:
        raise BadSource("A source of this kind cannot be read: name a folder of pages, or a file, of a known kind.")
    books = _books(source) if files.is_folder(source) and not found.own(source) else []
    if len(books) > 1:
        raise BadSource(f"The folder holds several books: {files.first_of(books)}. Name the folder of one.")
    return found


def _named(source: Path, kind: str) -> Reader:
    found = next((reader for reader in READERS if reader.kind == kind.lower()), None)
    if found is None:
        raise BadSource(f"There is no such kind of book: choose one of {', '.join(reader.kind for reader in READERS)}.")
    if found.single and files.is_folder(source):
        raise BadSource(f"A book of the kind {found.kind} is one file: name that, and no folder.")
    return found


def _knowing(source: Path) -> Reader | None:
    return next((reader for reader in READERS if reader.knows(source)), None)


def _books(source: Path) -> list[str]:
    """The folders in this one that carry the sign of a generator themselves."""
    try:
        inside = sorted(path for path in source.iterdir() if files.is_folder(path) and files.is_source(path))
    except OSError:
        return []
    with decode.opened():  # what is looked for there is no part of this book
        found = [path for path in inside if any(reader.own(path) for reader in READERS)]
    return [files.shown(Path(path.name)) for path in found]
