"""The kinds of books, each with what its sources look like and how they are read."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from bookbound.book import Manuscript
from bookbound.errors import BadSource
from bookbound.read.docusaurus import editions, knows_docusaurus, read_docusaurus
from bookbound.read.epub import knows_epub, read_epub
from bookbound.read.folder import (
    knows_gitbook,
    knows_markdown,
    knows_text,
    read_gitbook,
    read_markdown,
    read_text,
)
from bookbound.read.hugo import knows_hugo, read_hugo
from bookbound.read.jupyter import knows_jupyter, read_jupyter
from bookbound.read.mdbook import knows_mdbook, read_mdbook
from bookbound.read.mkdocs import knows_mkdocs, read_mkdocs
from bookbound.read.pdf import knows_pdf, read_pdf
from bookbound.read.site import knows_html, read_html
from bookbound.read.sphinx import knows_sphinx, read_sphinx


class Reader(NamedTuple):
    """Reads one kind of book; `knows` looks at names and configuration alone, and `sign` says what it looks for.

    `editions` are the versions of the book that the source holds, where it keeps several; any may be named to `read`.
    """

    kind: str
    knows: Callable[[Path], bool]
    read: Callable[..., Manuscript]
    sign: str = ""
    editions: Callable[[Path], list[str]] = lambda source: []


# The first that knows a source reads it: what a generator configures comes before what any folder may hold.
READERS: tuple[Reader, ...] = (
    Reader(
        "docusaurus",
        knows_docusaurus,
        read_docusaurus,
        "docusaurus.config, _category_ files or website/docs",
        editions,
    ),
    Reader("mkdocs", knows_mkdocs, read_mkdocs, "mkdocs.yml"),
    Reader("hugo", knows_hugo, read_hugo, "hugo.toml or its like beside content"),
    Reader("mdbook", knows_mdbook, read_mdbook, "book.toml and its SUMMARY.md"),
    Reader("sphinx", knows_sphinx, read_sphinx, "conf.py and its index, or pages with a toctree"),
    Reader("jupyter", knows_jupyter, read_jupyter, "_toc.yml, myst.yml, or notebooks that end in .ipynb"),
    Reader("epub", knows_epub, read_epub, "a file that ends in .epub"),
    Reader("pdf", knows_pdf, read_pdf, "a file that ends in .pdf"),
    Reader("html", knows_html, read_html, "index.html of a built site"),
    Reader("gitbook", knows_gitbook, read_gitbook, "SUMMARY.md"),
    Reader("markdown", knows_markdown, read_markdown, "pages that end in .md, .mdx or .markdown"),
    Reader("text", knows_text, read_text, "pages that end in .rst or .txt"),
)


def reader_for(source: Path, kind: str | None = None) -> Reader:
    """The reader of this kind or, where none is named, the first that knows the source."""
    if kind is None:
        found = next((reader for reader in READERS if reader.knows(source)), None)
    else:
        found = next((reader for reader in READERS if reader.kind == kind.lower()), None)
    if found:
        return found
    if kind is None:
        raise BadSource("A source of this kind cannot be read: name a folder of pages, or a file, of a known kind.")
    raise BadSource(f"There is no such kind of book: choose one of {', '.join(reader.kind for reader in READERS)}.")
