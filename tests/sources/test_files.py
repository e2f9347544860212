"""Finds, sorts and names files, and reports those that are not read."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bookbound.sources import parse_book
from bookbound.sources.files import join_first_names, natural_sort_key, resolve_relative_path


@pytest.mark.parametrize(
    "names",
    [
        ["lesson.md", "lesson2.md", "lesson10.md", "lesson-1.md", "lessons.md"],
        ["guide.md", "guide/a.md", "guide/b/a.md", "guide2.md", "guides.md"],
        ["1.md", "01-a.md", "2.md", "10.md", "a.md"],
        ["v1.2", "v1.10", "v2"],
        ["a.md", "a.rst", "a b.md"],
        ["x/lesson.md", "x/lesson1.md", "x1/lesson.md"],
    ],
)
def test_numbers_sort_as_numbers_and_a_prefix_comes_first(names: list[str]) -> None:
    mixed = random.Random(7).sample(names, len(names))
    assert sorted(mixed, key=natural_sort_key) == names


@given(st.lists(st.text(alphabet="aB1٣0./- ", max_size=8), max_size=8))
def test_any_names_can_be_sorted(names: list[str]) -> None:
    ordered = sorted(names, key=natural_sort_key)
    assert sorted(ordered, key=natural_sort_key) == ordered


def test_a_number_can_have_any_length() -> None:
    assert natural_sort_key("9" * 10_000) < natural_sort_key("1" + "0" * 10_000)


@pytest.mark.parametrize("target", ["a\0b", "a\ud800"])
def test_a_path_that_no_file_can_have_is_not_resolved(target: str) -> None:
    assert resolve_relative_path(Path("docs"), target) is None
    assert resolve_relative_path(Path("docs"), "../a/./b\udcff") == Path("a/b\udcff")


def test_the_first_names_are_joined_and_the_others_counted() -> None:
    assert join_first_names(["a", "b"]) == "a, b"
    assert join_first_names(list("abcdefg")) == "a, b, c, d, e and 2 more"
    assert join_first_names(["a" * 10_000, "b"]) == "a" * 100 + ", b"


Site = Callable[[dict[str, str]], Path]


def test_next_to_a_table_of_contents_each_other_kind_of_file_is_reported_once_with_a_count(site: Site) -> None:
    names = ["a.md", "b.rst", "c.ipynb", "d.txt", "e.html", "f.htm", "g.pdf", *(f"x/{n}.epub" for n in range(7))]
    files = dict.fromkeys([*names, "requirements.txt", "code.py", "old.doc"], "words")
    book = parse_book(site({**files, "SUMMARY.md": "- [A](a.md)\n- [B](b.rst)"}))
    assert [page.file for page in book.pages] == ["a.md", "b.rst"]
    advice = "left out (--source-format mixed reads all kinds)"
    assert [(notice.file, notice.message, notice.lost) for notice in book.notices] == [
        (".", message, False)
        for message in (
            f"1 file is of another kind, text, and {advice}: d.txt",
            f"1 file is of another kind, jupyter, and {advice}: c.ipynb",
            f"2 files are of another kind, html, and {advice}: e.html, f.htm",
            f"7 files are of another kind, epub, and {advice}:"
            " x/0.epub, x/1.epub, x/2.epub, x/3.epub, x/4.epub and 2 more",
            f"1 file is of another kind, pdf, and {advice}: g.pdf",
            "1 file cannot be read and is left out (save as DOCX, PDF, EPUB or Markdown): old.doc",
        )
    ]


def test_a_folder_of_only_pages_has_no_notices(site: Site) -> None:
    assert (
        parse_book(site({"a.md": "a", "b.mdx": "b", "c.rst": "c", "licence.txt": "l", "robots.txt": "r"})).notices == ()
    )
    assert parse_book(site({"d/a.txt": "a"}) / "d").notices == ()


def test_a_named_kind_leaves_other_kinds_out_and_reports_them(site: Site) -> None:
    root = site({"a.md": "a", "b.txt": "b"})
    assert [(page.file, page.text) for page in parse_book(root, "text").pages] == [("b.txt", "b")]
    assert "(--source-format mixed reads all kinds): a.md" in parse_book(root, "text").notices[0].message


def test_notebooks_with_a_table_of_contents_report_no_other_kinds(site: Site) -> None:
    notebook = '{"cells": [{"cell_type": "markdown", "source": "# A"}]}'
    root = site({"a.ipynb": notebook, "b.ipynb": notebook, "c.html": "x", "d.md": "d"})
    assert [notice.message.split(",")[1] for notice in parse_book(root).notices] == [" html"]
    assert parse_book(site({"_toc.yml": "root: a\nchapters: [{file: b}, {file: d}]"})).notices == ()
