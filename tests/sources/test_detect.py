"""Detects the format of a source."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.sources.local_server import HOST, html_page, serve_site

from bookbound.domain.errors import SourceError
from bookbound.sources import READER_VERSION, file_loader, parse_book
from bookbound.sources.detect import BOOK_READERS, detect_reader

Site = Callable[[dict[str, str]], Path]


def test_kinds_are_unique_and_have_descriptions() -> None:
    kinds = [reader.kind for reader in BOOK_READERS]
    assert len(set(kinds)) == len(kinds)
    assert {"docusaurus", "mkdocs", "hugo", "mdbook", "markdown", "text"} <= set(kinds)
    assert all(reader.description for reader in BOOK_READERS)
    assert READER_VERSION


def test_a_named_kind_overrides_detection(site: Site) -> None:
    root = site({"mkdocs.yml": "", "docs/a.md": "# A", "docs/b.rst": "B", "c.txt": "C"})
    assert detect_reader(root).kind == "mkdocs"
    assert [page.file for page in parse_book(root, "Markdown").pages] == ["docs/a.md", "docs/b.rst"]
    assert [page.file for page in parse_book(root, "text").pages] == ["docs/b.rst"]


def test_the_error_for_an_unknown_kind_lists_the_known_ones(site: Site) -> None:
    with pytest.raises(SourceError, match=r"Unknown source format 'word'\. .*docusaurus, .*markdown"):
        parse_book(site({"a.md": "a"}), "word")


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        ("docusaurus", r"read as docusaurus.*docusaurus\.config"),
        ("mkdocs", r"read as mkdocs.*mkdocs\.yml: is neither"),
        ("mdbook", r"read as mdbook.*SUMMARY\.md"),
        ("hugo", "read as hugo.*Hugo"),
        ("text", "read as text"),
        ("pdf", "format pdf is one file"),
        ("epub", "format epub is one file"),
    ],
)
def test_the_error_for_a_wrong_kind_says_what_is_missing(site: Site, kind: str, message: str) -> None:
    with pytest.raises(SourceError, match=message):
        parse_book(site({"a.md": "a"}), kind)


BOOKS = {
    "a": {"docusaurus.config.js": "module.exports = {}", "docs/a.md": "a"},
    "b": {"mkdocs.yml": "site_name: B", "docs/a.md": "a"},
    "c": {"hugo.toml": "", "content/a.md": "a"},
    "d": {"book.toml": "", "src/SUMMARY.md": "- [A](a.md)", "src/a.md": "a"},
    "e": {"conf.py": "", "index.rst": ".. toctree::\n\n   a\n", "a.rst": "A\n=\n\na"},
    "f": {"_toc.yml": "root: a", "a.md": "a"},
    "g": {"SUMMARY.md": "- [A](a.md)", "a.md": "a"},
}


def test_a_folder_of_several_books_is_refused_and_their_names_are_listed(site: Site) -> None:
    root = site({f"{book}/{name}": text for book, files in BOOKS.items() for name, text in files.items()})
    with pytest.raises(SourceError, match="several books: a, b, c, d, e and 2 more"):
        parse_book(root)
    assert [parse_book(root / book).kind for book in BOOKS] == [
        *("docusaurus", "mkdocs", "hugo", "mdbook", "sphinx", "jupyter", "gitbook")
    ]
    assert parse_book(root, "markdown").pages, "a named kind decides"


@pytest.mark.parametrize("book", BOOKS)
def test_a_book_that_contains_other_books_is_one_book(site: Site, book: str) -> None:
    inner = {f"{name}/mkdocs.yml": "site_name: X" for name in ("x", "y")}
    pages = {f"{name}/docs/a.md": "x" for name in ("x", "y")}
    alone = parse_book(site(BOOKS[book]))
    assert parse_book(site({**BOOKS[book], **inner, **pages})).kind == alone.kind


def test_a_single_book_in_a_subfolder_is_found(site: Site) -> None:
    root = site({"README.md": "# R", **{f"d/{name}": text for name, text in BOOKS["d"].items()}})
    assert [page.file for page in parse_book(root).pages] == ["d/src/a.md"]


def test_detection_opens_a_limited_number_of_pages(site: Site) -> None:
    deep = {f"x/p{n}.rst": "P\n=\n\nwords\n" for n in range(300)}
    root = site({**deep, "y.rst": "Y\n=\n\n.. toctree::\n\n   x/p7\n"})
    with file_loader.record_opened_paths() as opened:
        assert detect_reader(root).kind == "sphinx", "the page with the toctree is above the others"
    assert len(opened) < 300


def test_a_folder_of_markdown_loads_neither_sphinx_nor_docutils(site: Site) -> None:
    root = site({"README.md": "# Book", "a.md": "a", "part/b.md": "b", "mkdocs-notes.yml": "t"})
    code = "import sys\nfrom pathlib import Path\nfrom bookbound.sources import parse_book\n"
    code += "assert parse_book(Path(sys.argv[1])).kind == 'markdown'\n"
    code += "print(*(name for name in sys.modules if name.split('.')[0] == 'docutils' or '.sphinx' in name))"
    done = subprocess.run([sys.executable, "-c", code, str(root)], capture_output=True, text=True, check=True)
    assert not done.stdout.split()


def test_a_path_or_a_url_is_read_by_one_function(site: Site) -> None:
    assert parse_book(site({"a.md": "a"})).kind == "markdown"
    with serve_site({"/": html_page("<h1>Home</h1><p>words")}) as web:
        book = parse_book(f"{web.url}/", allowed_hosts=(HOST,))
    assert [page.text for page in book.pages] == ["Home\n\nwords"]


def test_detection_never_raises(site: Site, tmp_path: Path) -> None:
    root = site(
        {"mkdocs.yml": "[", "book.toml": "[", "hugo.toml": "[", "docusaurus.config.js": "{", "content/a.md": "a"}
    )
    for source in (root, root / "mkdocs.yml", tmp_path / "nowhere", tmp_path):
        assert all(isinstance(reader.matches(source), bool) for reader in BOOK_READERS)
