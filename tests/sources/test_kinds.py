"""Which reader reads what."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from bookbound.domain.errors import SourceError
from bookbound.sources import READER_VERSION, decoding, parse_book
from bookbound.sources.detect import BOOK_READERS, detect_reader

Site = Callable[[dict[str, str]], Path]


def test_kinds_have_names_of_their_own_and_say_what_they_look_for() -> None:
    kinds = [reader.kind for reader in BOOK_READERS]
    assert len(set(kinds)) == len(kinds)
    assert {"docusaurus", "mkdocs", "hugo", "mdbook", "markdown", "text"} <= set(kinds)
    assert all(reader.sign for reader in BOOK_READERS if reader.kind in ("docusaurus", "mkdocs", "hugo", "mdbook"))
    assert READER_VERSION


def test_a_kind_that_is_named_overrides_what_a_source_looks_like(site: Site) -> None:
    root = site({"mkdocs.yml": "", "docs/a.md": "# A", "docs/b.rst": "B", "c.txt": "C"})
    assert detect_reader(root).kind == "mkdocs"
    assert [page.file for page in parse_book(root, "Markdown").pages] == ["docs/a.md", "docs/b.rst"]
    assert [page.file for page in parse_book(root, "text").pages] == ["docs/b.rst"]


def test_a_kind_that_is_unknown_is_bad_use_and_the_known_ones_are_listed(site: Site) -> None:
    with pytest.raises(SourceError, match=r"docusaurus, .*markdown"):
        parse_book(site({"a.md": "a"}), "word")


@pytest.mark.parametrize(
    ("kind", "why"),
    [
        ("docusaurus", r"kind docusaurus: .*no docusaurus\.config"),
        ("mkdocs", r"kind mkdocs: .*mkdocs\.yml: is neither"),
        ("mdbook", r"kind mdbook: .*SUMMARY\.md"),
        ("hugo", "kind hugo: .*no configuration of Hugo"),
        ("text", "kind text: "),
        ("pdf", "kind pdf is one file"),
        ("epub", "kind epub is one file"),
    ],
)
def test_a_kind_that_does_not_fit_says_what_is_missing(site: Site, kind: str, why: str) -> None:
    with pytest.raises(SourceError, match=why):
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


def test_a_folder_of_several_books_is_refused_and_the_first_of_them_are_named(site: Site) -> None:
    root = site({f"{book}/{name}": text for book, files in BOOKS.items() for name, text in files.items()})
    with pytest.raises(SourceError, match="several books: a, b, c, d, e and 2 more"):
        parse_book(root)
    assert [parse_book(root / book).kind for book in BOOKS] == [
        *("docusaurus", "mkdocs", "hugo", "mdbook", "sphinx", "jupyter", "gitbook")
    ]
    assert parse_book(root, "markdown").pages, "whoever names the kind has decided"


@pytest.mark.parametrize("book", BOOKS)
def test_a_book_with_others_inside_of_it_is_one_book(site: Site, book: str) -> None:
    inner = {f"{name}/mkdocs.yml": "site_name: X" for name in ("x", "y")}
    pages = {f"{name}/docs/a.md": "x" for name in ("x", "y")}
    alone = parse_book(site(BOOKS[book]))
    assert parse_book(site({**BOOKS[book], **inner, **pages})).kind == alone.kind


def test_one_book_in_a_folder_is_found_there(site: Site) -> None:
    root = site({"README.md": "# R", **{f"d/{name}": text for name, text in BOOKS["d"].items()}})
    assert [page.file for page in parse_book(root).pages] == ["d/src/a.md"]


def test_asking_who_knows_a_source_opens_only_so_many_of_its_pages(site: Site) -> None:
    deep = {f"x/p{n}.rst": "P\n=\n\nwords\n" for n in range(300)}
    root = site({**deep, "y.rst": "Y\n=\n\n.. toctree::\n\n   x/p7\n"})
    with decoding.record_opened_paths() as opened:
        assert detect_reader(root).kind == "sphinx", "what lists others stands above them"
    assert len(opened) < 300


def test_no_reader_raises_when_it_is_asked_whether_it_knows_a_source(site: Site, tmp_path: Path) -> None:
    root = site(
        {"mkdocs.yml": "[", "book.toml": "[", "hugo.toml": "[", "docusaurus.config.js": "{", "content/a.md": "a"}
    )
    for source in (root, root / "mkdocs.yml", tmp_path / "nowhere", tmp_path):
        assert all(isinstance(reader.knows(source), bool) for reader in BOOK_READERS)
