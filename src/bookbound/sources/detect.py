"""Detects the format of a book's source and chooses the reader for it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from bookbound.domain.document import ParsedBook
from bookbound.domain.errors import SourceError
from bookbound.sources import decoding, files
from bookbound.sources.epub import is_epub_source, read_epub
from bookbound.sources.generators.docusaurus import is_docusaurus_source, list_editions, read_docusaurus
from bookbound.sources.generators.gitbook import is_gitbook_source, read_gitbook
from bookbound.sources.generators.hugo import is_hugo_source, list_languages, read_hugo
from bookbound.sources.generators.jupyter import has_toc_file, is_jupyter_book, read_jupyter
from bookbound.sources.generators.mdbook import is_mdbook_root, is_mdbook_source, read_mdbook
from bookbound.sources.generators.mkdocs import is_mkdocs_source, read_mkdocs
from bookbound.sources.generators.sphinx import contains_sphinx_project, is_sphinx_folder, read_sphinx
from bookbound.sources.html.built_site import is_html_source, read_html
from bookbound.sources.pdf import is_pdf_source, read_pdf
from bookbound.sources.plain_folder import is_markdown_source, is_text_source, read_markdown, read_plain_text


class BookReader(NamedTuple):
    """Reads one kind of book; `knows` says whether a source looks like one, and `sign` what it looks for.

    It looks at names and configuration and, where these do not tell, at the page that opens the source or at the first
    pages for a list of others: so many alone, however large the source is.

    `editions` are the versions of the book that the source holds, where it keeps several; any may be named to `read`.
    `own` says whether a generator's sign stands in the source itself, and not only in folders below; a `single` book is
    one file.
    """

    kind: str
    knows: Callable[[Path], bool]
    read: Callable[..., ParsedBook]
    sign: str = ""
    editions: Callable[[Path], list[str]] = lambda source: []
    own: Callable[[Path], bool] = lambda source: False
    single: bool = False


# The first that knows a source reads it: what a generator configures comes before what any folder may hold.
BOOK_READERS: tuple[BookReader, ...] = (
    BookReader(
        "docusaurus",
        is_docusaurus_source,
        read_docusaurus,
        "docusaurus.config, _category_ files or website/docs",
        list_editions,
        own=is_docusaurus_source,
    ),
    BookReader("mkdocs", is_mkdocs_source, read_mkdocs, "mkdocs.yml", own=is_mkdocs_source),
    BookReader(
        "hugo", is_hugo_source, read_hugo, "hugo.toml or its like beside content", list_languages, own=is_hugo_source
    ),
    BookReader("mdbook", is_mdbook_source, read_mdbook, "book.toml and its SUMMARY.md", own=is_mdbook_root),
    BookReader(
        "sphinx",
        contains_sphinx_project,
        read_sphinx,
        "conf.py and its index, or pages with a toctree",
        own=is_sphinx_folder,
    ),
    BookReader(
        "jupyter",
        is_jupyter_book,
        read_jupyter,
        "_toc.yml, myst.yml, or notebooks that end in .ipynb",
        own=has_toc_file,
    ),
    BookReader("epub", is_epub_source, read_epub, "a file that ends in .epub", single=True),
    BookReader("pdf", is_pdf_source, read_pdf, "a file that ends in .pdf", single=True),
    BookReader("html", is_html_source, read_html, "index.html of a built site"),
    BookReader("gitbook", is_gitbook_source, read_gitbook, "SUMMARY.md or .gitbook.yaml", own=is_gitbook_source),
    BookReader(
        "markdown",
        is_markdown_source,
        read_markdown,
        "pages that end in .md, .mdx or .markdown",
        own=lambda source: files.is_file(source / "book.json"),  # GitBook's settings before .gitbook.yaml
    ),
    BookReader("text", is_text_source, read_plain_text, "pages that end in .rst or .txt"),
)


def detect_reader(source: Path, kind: str | None = None) -> BookReader:
    """The reader of this kind or, where none is named, the first that knows the source, if that is one book."""
    if kind is not None:
        return _reader_by_name(source, kind)
    found = _first_matching_reader(source)
    if found is None:
        raise SourceError("A source of this kind cannot be read: name a folder of pages, or a file, of a known kind.")
    books = _find_nested_books(source) if files.is_folder(source) and not found.own(source) else []
    if len(books) > 1:
        raise SourceError(f"The folder holds several books: {files.join_first_names(books)}. Name the folder of one.")
    return found


def _reader_by_name(source: Path, kind: str) -> BookReader:
    found = next((reader for reader in BOOK_READERS if reader.kind == kind.lower()), None)
    if found is None:
        raise SourceError(
            f"There is no such kind of book: choose one of {', '.join(reader.kind for reader in BOOK_READERS)}."
        )
    if found.single and files.is_folder(source):
        raise SourceError(f"A book of the kind {found.kind} is one file: name that, and no folder.")
    return found


def _first_matching_reader(source: Path) -> BookReader | None:
    return next((reader for reader in BOOK_READERS if reader.knows(source)), None)


def _find_nested_books(source: Path) -> list[str]:
    """The folders in this one that carry the sign of a generator themselves."""
    try:
        inside = sorted(path for path in source.iterdir() if files.is_folder(path) and files.is_source_folder(path))
    except OSError:
        return []
    with decoding.record_opened_paths():  # what is looked for there is no part of this book
        found = [path for path in inside if any(reader.own(path) for reader in BOOK_READERS)]
    return [files.printable_path(Path(path.name)) for path in found]
