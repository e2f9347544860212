"""Reads folders of pages that no generator manages."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from bookbound.domain.errors import SourceError
from bookbound.sources import includes, parse_book
from bookbound.sources.plain_folder import read_plain_folder

Site = Callable[[dict[str, str]], Path]


def order(root: Path) -> list[str]:
    return [page.file for page in parse_book(root).pages]


def test_index_pages_come_first_and_numbers_sort_as_numbers(site: Site) -> None:
    names = ("README.md", "chapter2/index.md", "chapter2/a.md", "chapter10/a.md", "appendix.md", "9-last.md")
    assert order(site(dict.fromkeys(names, "text"))) == [
        *("README.md", "9-last.md", "appendix.md", "chapter2/index.md", "chapter2/a.md", "chapter10/a.md"),
    ]


def test_titles_and_urls_follow_from_paths(site: Site) -> None:
    book = parse_book(
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


def test_the_book_can_be_deeper_than_the_repository_files(site: Site) -> None:
    book = parse_book(
        site(
            {
                "README.md": "# The Book",
                "license.md": "x",
                "tool/README.md": "# Tool",
                "docs/en/part/a.md": "a",
                "docs/en/b.md": "b",
                "docs/en/contributing.md": "c",
                "docs/en/CHANGELOG.md": "x",
            }
        )
    )
    assert book.title == "The Book"
    assert {page.file: (page.url, page.chapter) for page in book.pages} == {
        "README.md": ("/", "The Book"),
        "tool/README.md": ("/tool", "Tool"),
        "docs/en/part/a.md": ("/part/a", "Part"),
        "docs/en/b.md": ("/b", "B"),
        "docs/en/contributing.md": ("/contributing", "Contributing"),
    }
    [notice] = book.notices
    assert "2 files" in notice.message
    assert "docs/en/CHANGELOG.md, license.md" in notice.message


def test_one_index_page_has_a_url_and_the_book_wins_over_the_repository(site: Site) -> None:
    root = site({"README.md": "# No", "docs/index.md": "# Yes", "docs/part/README.md": "no", "docs/part/index.md": "a"})
    book = parse_book(root)
    assert [(page.file, page.url) for page in book.pages] == [("docs/index.md", "/"), ("docs/part/index.md", "/part")]
    assert book.title == "Yes"
    assert "docs/part/README.md, README.md" in book.notices[0].message


def test_a_generic_heading_is_not_a_book_title(site: Site) -> None:
    assert parse_book(site({"README.md": "# Introduction", "a.md": "a"})).title == "Site"


def test_the_current_folder_is_the_same_book(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    root = site({"README.md": "# Book", "docs/a.md": "a", "docs/b/c.md": "c"})
    book = parse_book(root)
    monkeypatch.chdir(root)
    assert parse_book(Path()) == book


def test_an_index_inside_the_book_is_skipped(site: Site) -> None:
    root = site({"a.md": "a", "index/current": "x", "index/generations/1/notes.md": "n", "generations/b.md": "b"})
    assert order(root) == ["a.md", "generations/b.md"]


def test_hidden_installed_and_built_files_are_skipped(site: Site) -> None:
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


def test_text_files_are_pages_if_there_are_no_others(site: Site) -> None:
    book = parse_book(site({"one.txt": "One", "requirements.txt": "x==1"}))
    assert ([page.file for page in book.pages], book.kind) == (["one.txt"], "text")


@pytest.mark.parametrize("page", ["a{}.md", "a{}.rst"])
def test_all_pages_together_include_a_limited_amount(site: Site, monkeypatch: pytest.MonkeyPatch, page: str) -> None:
    monkeypatch.setattr(includes, "_MAX_INCLUDED_CHARS", 50)
    include = '{% include "part.inc" %}' if page.endswith(".md") else ".. include:: part.inc"
    names = [page.format(n) for n in range(4)]
    root = site({**dict.fromkeys(names, f"Own.\n\n{include}\n"), "part.inc": "Taken words of some length."})
    book = read_plain_folder(root, expands_includes=True)
    assert sum("Taken" in page.text for page in book.pages) == 1
    assert [notice.file for notice in book.notices if notice.lost] == names[1:]


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
    book = parse_book(root)
    assert [page.file for page in book.pages] == ["a.md", "same.md"]
    assert [notice.file for notice in book.notices] == ["gone.md", "out.md"]


def test_the_error_for_a_source_without_pages_says_what_to_name(site: Site, tmp_path: Path) -> None:
    for source in (tmp_path / "nowhere", tmp_path, site({"a.pdf": "x"}), site({"blank.md": " \n"})):
        with pytest.raises(SourceError, match=r"folder|\.md") as error:
            parse_book(source)
        assert str(tmp_path) not in str(error.value)


def test_one_file_is_a_book_of_one_page(tmp_path: Path) -> None:
    (tmp_path / "essay.md").write_text("# On Hands\n\nFive fingers.")
    book = parse_book(tmp_path / "essay.md")
    assert (book.title, book.kind, book.pages[0].file) == ("On Hands", "markdown", "essay.md")
    (tmp_path / "essay.doc").write_text("x")
    with pytest.raises(SourceError, match="cannot be read"):
        parse_book(tmp_path / "essay.doc")
