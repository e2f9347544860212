"""Folders of pages that belong to no known generator."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from bookbound.errors import BadSource
from bookbound.read import read

Site = Callable[[dict[str, str]], Path]


def order(root: Path) -> list[str]:
    return [page.file for page in read(root).pages]


def test_a_table_of_contents_orders_the_pages_and_is_none(site: Site) -> None:
    root = site(
        {
            "SUMMARY.md": "* [Z](z.md)\n* [In](sub/in%20there.md#x)\n* [A](./a.md)\n* [Gone](gone.md)",
            "a.md": "a",
            "other.md": "o",
            "sub/in there.md": "i",
            "z.md": "z",
        }
    )
    assert order(root) == ["z.md", "sub/in there.md", "a.md", "other.md"]


def test_else_the_opening_page_comes_first_and_numbers_count_as_numbers(site: Site) -> None:
    names = ("README.md", "chapter2/index.md", "chapter2/a.md", "chapter10/a.md", "appendix.md", "9-last.md")
    assert order(site(dict.fromkeys(names, "text"))) == [
        *("README.md", "9-last.md", "appendix.md", "chapter2/index.md", "chapter2/a.md", "chapter10/a.md"),
    ]


def test_pages_are_named_and_addressed_by_their_paths(site: Site) -> None:
    book = read(
        site(
            {
                "README.md": "# The Book",
                "intro.md": "---\ntitle: Front\n---\n# Heading",
                "01-first_steps/index.md": "text",
                "01-first_steps/02-go.mdx": "## Not a title",
            }
        )
    )
    assert (book.title, book.kind) == ("The Book", "markdown")
    assert [(page.url, page.title, page.chapter) for page in book.pages] == [
        ("/", "The Book", "The Book"),
        ("/01-first_steps", "First steps", "First steps"),
        ("/01-first_steps/02-go", "Go", "First steps"),
        ("/intro", "Front", "Front"),
    ]


def test_the_book_may_stand_deeper_than_the_repositorys_notes(site: Site) -> None:
    book = read(site({"README.md": "Notes", "LICENSE.md": "x", "docs/en/index.md": "# Book", "docs/en/part/a.md": "a"}))
    assert book.title == "Book"
    assert {page.file: (page.url, page.chapter) for page in book.pages} == {
        "README.md": ("/README", "README"),
        "LICENSE.md": ("/LICENSE", "LICENSE"),
        "docs/en/index.md": ("/", "Book"),
        "docs/en/part/a.md": ("/part/a", "Part"),
    }


def test_hidden_installed_and_built_files_are_passed_over(site: Site) -> None:
    root = site(
        {
            "a.md": "a",
            ".git/b.md": "b",
            ".hidden.md": "b",
            "node_modules/x/README.md": "b",
            "site/index.html": "<p>",
            "site/b.md": "b",
            "build/c.md": "a chapter on building",
            "requirements.txt": "b",
        }
    )
    assert order(root) == ["a.md", "build/c.md"]


def test_text_files_are_pages_where_nothing_else_is(site: Site) -> None:
    book = read(site({"one.txt": "One", "requirements.txt": "x==1"}))
    assert ([page.file for page in book.pages], book.kind) == (["one.txt"], "text")


def test_links_that_leave_the_folder_are_not_followed(site: Site, tmp_path: Path) -> None:
    (tmp_path / "secret.md").write_text("secret")
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "b.md").write_text("secret")
    root = site({"a.md": "a"})
    (root / "out.md").symlink_to(tmp_path / "secret.md")
    (root / "folder").symlink_to(tmp_path / "elsewhere")
    (root / "loop").symlink_to(root)
    (root / "gone.md").symlink_to(root / "nowhere.md")
    (root / "same.md").symlink_to(root / "a.md")
    book = read(root)
    assert [page.file for page in book.pages] == ["a.md", "same.md"]
    assert [notice.file for notice in book.notices] == ["out.md"]


def test_a_source_without_pages_says_what_was_looked_for(site: Site, tmp_path: Path) -> None:
    for source in (tmp_path / "nowhere", tmp_path, site({"a.pdf": "x"}), site({"blank.md": " \n"})):
        with pytest.raises(BadSource, match=r"folder|\.md") as error:
            read(source)
        assert str(tmp_path) not in str(error.value)


def test_one_file_is_a_book_of_one_page(tmp_path: Path) -> None:
    (tmp_path / "essay.md").write_text("# On Hands\n\nFive fingers.")
    book = read(tmp_path / "essay.md")
    assert (book.title, book.kind, book.pages[0].file) == ("On Hands", "markdown", "essay.md")
    (tmp_path / "essay.doc").write_text("x")
    with pytest.raises(BadSource, match="cannot be read"):
        read(tmp_path / "essay.doc")
