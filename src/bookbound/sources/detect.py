"""Detects the format of a book's source and chooses the reader for it."""

from __future__ import annotations

from dataclasses import dataclass
from fnmatch import fnmatch
from importlib import import_module
from pathlib import Path
from typing import Any

from bookbound.domain.document import ParsedBook
from bookbound.domain.errors import SourceError
from bookbound.sources import file_loader, files


@dataclass(frozen=True, slots=True)
class BookReader:
    """Reads one kind of book with the functions `is_<kind>_source` and `read_<kind>` of its module.

    The module is imported on first use. `config_check` and `edition_lister` name two more functions of it. If there are
    `file_patterns`, only a folder with a matching file can be of this kind. A single file is of the kind that its name
    ends with. Matching reads configuration and a limited number of pages, however large the source is.
    """

    kind: str
    description: str
    module: str
    config_check: str = ""
    edition_lister: str = ""
    file_patterns: tuple[str, ...] = ()
    is_single_file: bool = False

    def matches(self, source: Path) -> bool:
        if self.is_single_file:
            return source.suffix.lower() == f".{self.kind}" and files.is_file(source)
        return self._may_match(source) and bool(self._call(f"is_{self.kind}_source", source))

    def has_own_config(self, folder: Path) -> bool:
        """Whether the generator's configuration is in this folder itself, not only in a folder below."""
        return bool(self.config_check) and self._may_match(folder) and bool(self._call(self.config_check, folder))

    def editions(self, source: Path) -> list[str]:
        """List the editions in a source that contains several."""
        found: list[str] = self._call(self.edition_lister, source) if self.edition_lister else []
        return found

    def read(self, source: Path, edition: str | None = None) -> ParsedBook:
        """Read the book in a source, or the named one of its editions."""
        book: ParsedBook = self._call(f"read_{self.kind}", source, *([edition] if edition else []))
        return book

    def _may_match(self, source: Path) -> bool:
        if not self.file_patterns:
            return True
        names = {source.name}
        if files.is_folder(source):
            suffixes = frozenset(Path(pattern).suffix for pattern in self.file_patterns)
            names = {path.name for path in files.find_files(source, suffixes)[0]}
        return any(fnmatch(name.lower(), pattern) for name in names for pattern in self.file_patterns)

    def _call(self, function: str, *args: Any) -> Any:
        return getattr(import_module(f"bookbound.sources.{self.module}"), function)(*args)


# The first match wins, so generators with a configuration come before folders that can contain anything.
BOOK_READERS: tuple[BookReader, ...] = (
    BookReader(
        "docusaurus",
        "docusaurus.config, _category_ files or website/docs",
        "generators.docusaurus",
        config_check="is_docusaurus_source",
        edition_lister="list_editions",
    ),
    BookReader("mkdocs", "mkdocs.yml", "generators.mkdocs", config_check="is_mkdocs_source"),
    BookReader(
        "hugo",
        "hugo.toml or another Hugo configuration next to content",
        "generators.hugo",
        config_check="is_hugo_source",
        edition_lister="list_languages",
    ),
    BookReader("mdbook", "book.toml and its SUMMARY.md", "generators.mdbook", config_check="is_mdbook_root"),
    BookReader(
        "sphinx",
        "conf.py and its index, or pages with a toctree",
        "generators.sphinx",
        config_check="is_sphinx_folder",
        file_patterns=("conf.py", "*.rst"),
    ),
    BookReader(
        "jupyter",
        "_toc.yml, myst.yml, or notebooks that end in .ipynb",
        "generators.jupyter",
        config_check="has_toc_file",
        file_patterns=("_toc.yml", "myst.yml", "*.ipynb"),
    ),
    BookReader("epub", "a file that ends in .epub", "epub", is_single_file=True),
    BookReader("pdf", "a file that ends in .pdf", "pdf", is_single_file=True),
    BookReader("docx", "a file that ends in .docx", "docx", is_single_file=True),
    BookReader("html", "index.html of a built site", "html.built_site"),
    BookReader("gitbook", "SUMMARY.md or .gitbook.yaml", "plain_folder", config_check="is_gitbook_source"),
    BookReader("mixed", "documents in several formats, or several PDF, EPUB or DOCX files", "mixed_folder"),
    BookReader(
        "markdown", "pages that end in .md, .mdx or .markdown", "plain_folder", config_check="has_legacy_gitbook_config"
    ),
    BookReader("text", "pages that end in .rst or .txt", "plain_folder"),
)


def detect_reader(source: Path, kind: str | None = None) -> BookReader:
    """Return the reader of this kind or the first that matches; refuse a folder that contains several books."""
    if kind is not None:
        return _reader_by_name(source, kind)
    reader = next((reader for reader in BOOK_READERS if reader.matches(source)), None)
    if reader is None:
        raise SourceError("This kind of source cannot be read. Name a folder of pages or a file of a known kind.")
    books = _find_nested_books(source) if files.is_folder(source) and not reader.has_own_config(source) else []
    if len(books) > 1:
        names = files.join_first_names(books)
        raise SourceError(f"The folder contains several books: {names}. Name the folder of one of them.")
    return reader


def _reader_by_name(source: Path, kind: str) -> BookReader:
    reader = next((reader for reader in BOOK_READERS if reader.kind == kind.lower()), None)
    if reader is None:
        kinds = ", ".join(reader.kind for reader in BOOK_READERS)
        raise SourceError(f"Unknown source format {kind!r}. Choose one of {kinds}.")
    if reader.is_single_file and files.is_folder(source):
        raise SourceError(f"A book in the format {reader.kind} is one file. Name that file instead of a folder.")
    return reader


def _find_nested_books(source: Path) -> list[str]:
    """List the direct subfolders that contain a generator's configuration."""
    try:
        folders = sorted(path for path in source.iterdir() if files.is_folder(path) and files.is_source_folder(path))
    except OSError:
        return []
    with file_loader.record_opened_paths():  # keeps files of other books out of this book's record
        found = [path for path in folders if any(reader.has_own_config(path) for reader in BOOK_READERS)]
    return [files.printable_path(Path(path.name)) for path in found]
