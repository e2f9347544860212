"""Jupyter Books and MyST projects."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from hypothesis import given
from tests.sources.notebooks import ANY_JSON, LESSON

from bookbound.sources import parse_book
from bookbound.sources.generators.jupyter import parse_jupyter_toc

Site = Callable[[dict[str, str]], Path]

PARTS = """
format: jb-book
root: intro
parts:
  - caption: Basics
    chapters:
      - file: one
      - file: deep/two.md
        title: The second
        sections:
          - file: deep/three
          - url: https://elsewhere.example
  - chapters:
      - file: lesson
      - file: gone
"""
PAGES = {
    "_toc.yml": PARTS,
    "_config.yml": "title: The Course\nhtml: {baseurl: https://course.example/book}\n",
    "intro.md": "# Welcome\n\nWords.",
    "one.md": "# One\n\nWords.",
    "deep/two.md": "# Two\n\nSee {ref}`third`.",
    "deep/three.rst": ".. _third:\n\nThree\n=====\n\nWords.",
    "lesson.ipynb": LESSON,
    "stray.md": "# Stray",
}


def test_the_table_of_contents_gives_the_order_of_pages(site: Site) -> None:
    found = parse_book(site(PAGES))
    assert (found.title, found.kind) == ("The Course", "jupyter")
    assert [
        (page.url.removeprefix("https://course.example/book"), page.title, page.chapter) for page in found.pages
    ] == [
        ("/intro.html", "Welcome", "Welcome"),
        ("/one.html", "One", "Basics"),
        ("/deep/two.html", "Two", "The second"),
        ("/deep/three.html", "Three", "The second"),
        ("/lesson.html", "The lesson", "The lesson"),
    ]
    assert found.pages[2].text.endswith("See Three.")
    assert found.notices == (
        ("_toc.yml", "1 page is not listed and left out: stray", False),
        ("_toc.yml", "lists pages that do not exist: gone", True),
    )


def test_articles_and_old_tables_of_contents_are_read(site: Site) -> None:
    article = "format: jb-article\nroot: intro\nsections:\n- file: one\n- file: lesson\n"
    old = "- file: intro\n- part: Basics\n  chapters:\n  - file: one\n    sections:\n    - file: lesson\n"
    urls = ["/intro.html", "/one.html", "/lesson.html"]
    for name, toc in (("a", article), ("b", old)):
        root = site({f"{name}/{file}": text for file, text in (PAGES | {"_toc.yml": toc, "_config.yml": ""}).items()})
        assert [page.url for page in parse_book(root / name).pages] == urls


def test_urls_of_a_myst_project_have_no_endings(site: Site) -> None:
    settings = """
version: 1
project:
  title: The Project
  toc:
    - file: intro.md
    - title: Basics
      children:
        - file: 01-First_Page.md
        - pattern: deep/*.md
    - file: lesson.ipynb
"""
    pages = {
        "myst.yml": settings,
        "intro.md": "# Hi",
        "01-First_Page.md": "# F",
        "deep/b.md": "# B",
        "deep/a.md": "# A",
    }
    found = parse_book(site(pages | {"lesson.ipynb": LESSON}))
    assert [(page.url, page.chapter) for page in found.pages] == [
        ("/", "Hi"),
        ("/first-page", "Basics"),
        ("/a", "Basics"),
        ("/b", "Basics"),
        ("/lesson", "The lesson"),
    ]
    assert found.title == "The Project"


def test_a_folder_of_notebooks_is_sorted_by_name(site: Site) -> None:
    found = parse_book(site({"10-b.ipynb": LESSON, "2-a.ipynb": LESSON, "index.ipynb": LESSON, "deep/c.ipynb": LESSON}))
    assert [page.url for page in found.pages] == ["/index.html", "/2-a.html", "/10-b.html", "/deep/c.html"]
    assert found.kind == "jupyter"


def test_the_table_of_contents_overrides_toctrees_of_pages(tmp_path: Path) -> None:
    (tmp_path / "_toc.yml").write_text("format: jb-book\nroot: index\nchapters:\n- file: a\n")
    (tmp_path / "index.md").write_text("# Start\n\nWords.\n")
    (tmp_path / "a.md").write_text("# A\n\n```{toctree}\nb\n```\n\nMore words.\n")
    (tmp_path / "b.md").write_text("# B\n\nOther words.\n")
    book = parse_book(tmp_path)
    assert [page.file for page in book.pages][:2] == ["index.md", "a.md"]


@given(ANY_JSON)
def test_any_value_is_accepted_as_a_table_of_contents(value: Any) -> None:
    parse_jupyter_toc(value)
