"""Files of other kinds in a folder of pages."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from bookbound.domain.errors import SourceError
from bookbound.sources import parse_book

Site = Callable[[dict[str, str]], Path]


def test_each_other_kind_is_told_of_once_with_a_count(site: Site) -> None:
    names = ["a.md", "b.rst", "c.ipynb", "d.txt", "e.html", "f.htm", "g.pdf", *(f"x/{n}.epub" for n in range(7))]
    book = parse_book(site(dict.fromkeys([*names, "requirements.txt", "code.py"], "words")))
    assert [page.file for page in book.pages] == ["a.md", "b.rst"]
    assert [(notice.file, notice.message, notice.lost) for notice in book.notices] == [
        (".", f"{told}", False)
        for told in (
            "1 file is of another kind, text, and left out (name one to read it by itself): d.txt",
            "1 file is of another kind, jupyter, and left out (--as jupyter reads such files): c.ipynb",
            "2 files are of another kind, html, and left out (--as html reads such files): e.html, f.htm",
            "7 files are of another kind, epub, and left out (name one to read it by itself):"
            " x/0.epub, x/1.epub, x/2.epub, x/3.epub, x/4.epub and 2 more",
            "1 file is of another kind, pdf, and left out (name one to read it by itself): g.pdf",
        )
    ]


def test_a_folder_of_pages_alone_has_nothing_to_tell(site: Site) -> None:
    assert (
        parse_book(site({"a.md": "a", "b.mdx": "b", "c.rst": "c", "licence.txt": "l", "robots.txt": "r"})).notices == ()
    )
    assert parse_book(site({"d/a.txt": "a"}) / "d").notices == ()


def test_what_was_asked_for_leaves_the_others_out_and_says_so(site: Site) -> None:
    root = site({"a.md": "a", "b.txt": "b"})
    assert [(page.file, page.text) for page in parse_book(root, "text").pages] == [("b.txt", "b")]
    assert "(--as markdown reads such files): a.md" in parse_book(root, "text").notices[0].message


def test_a_folder_of_files_that_are_books_themselves_says_so(site: Site) -> None:
    with pytest.raises(SourceError, match=r"name one to read it by itself\): b\.pdf"):
        parse_book(site({"b.pdf": "x"}))


def test_notebooks_without_a_table_of_contents_leave_other_kinds_out_and_say_so(site: Site) -> None:
    notebook = '{"cells": [{"cell_type": "markdown", "source": "# A"}]}'
    root = site({"a.ipynb": notebook, "b.ipynb": notebook, "c.pdf": "x", "d.md": "d"})
    assert [notice.message.split(",")[1] for notice in parse_book(root).notices] == [" pdf"]
    assert parse_book(site({"_toc.yml": "root: a\nchapters: [{file: b}, {file: d}]"})).notices == ()
