"""Jupyter Books, MyST projects and notebooks."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bookbound.domain.document import Page
from bookbound.domain.errors import SourceError
from bookbound.sources import parse_book
from bookbound.sources.generators.jupyter import parse_toc
from bookbound.sources.notebook import load_notebook_as_markdown

Site = Callable[[dict[str, str]], Path]


def cell(kind: str, source: str | list[str], *tags: str, **more: Any) -> dict[str, Any]:
    return {"cell_type": kind, "metadata": {"tags": list(tags)}, "source": source, **more}


def notebook(*cells: dict[str, Any], **metadata: Any) -> str:
    return json.dumps({"nbformat": 4, "nbformat_minor": 5, "metadata": metadata, "cells": list(cells)})


LESSON = notebook(
    cell("markdown", ["# The lesson\n", "\n", "See {doc}`intro`. ![a plot](attachment:x.png)"]),
    cell("code", "x = 1\nx + 1", outputs=[{"data": {"image/png": "iVBORw0KGgo" * 1000, "text/plain": "printed"}}]),
    cell("raw", "raw words"),
    cell("code", "secret = 1", "remove-cell"),
    cell("code", "plot()", "remove-input"),
    cell("code", "shown = 1", "hide-input"),
    cell("markdown", "```\nnever closed"),
    cell("markdown", "## The end"),
    kernelspec={"language": "julia"},
)
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


def test_a_book_is_read_in_the_order_of_its_table_of_contents(site: Site) -> None:
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
        ("_toc.yml", "lists pages that are not there: gone", True),
    )


def test_an_article_and_the_format_before_are_read_too(site: Site) -> None:
    article = "format: jb-article\nroot: intro\nsections:\n- file: one\n- file: lesson\n"
    before = "- file: intro\n- part: Basics\n  chapters:\n  - file: one\n    sections:\n    - file: lesson\n"
    urls = ["/intro.html", "/one.html", "/lesson.html"]
    for name, toc in (("a", article), ("b", before)):
        root = site({f"{name}/{file}": text for file, text in (PAGES | {"_toc.yml": toc, "_config.yml": ""}).items()})
        assert [page.url for page in parse_book(root / name).pages] == urls


def test_a_myst_project_opens_with_its_first_page_and_leaves_endings_out(site: Site) -> None:
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


def test_a_notebook_shows_words_and_code_and_nothing_that_was_printed(
    site: Site, faults: Callable[[Page], list[str]]
) -> None:
    root = site({"lesson.ipynb": LESSON})
    (page,) = parse_book(root / "lesson.ipynb").pages
    assert page.text == ("The lesson\n\nSee intro. a plot\n\nx = 1\nx + 1\n\nshown = 1\n\nnever closed\n\nThe end")
    assert [block.kind for block in page.blocks] == ["heading", "paragraph", "code", "code", "code", "heading"]
    assert "```julia\nx = 1" in page.source
    assert not re.search("iVBOR|printed", page.source)
    assert faults(page) == []


def test_notebooks_of_the_format_before_are_read(tmp_path: Path) -> None:
    cells = [
        {"cell_type": "heading", "level": 2, "source": ["A", " title"]},
        {"cell_type": "code", "input": "x", "language": "r"},
    ]
    (tmp_path / "old.ipynb").write_text(json.dumps({"nbformat": 3, "worksheets": [{"cells": cells}]}))
    assert load_notebook_as_markdown(tmp_path / "old.ipynb", "old.ipynb")[0] == "## A title\n\n```r\nx\n```\n"


def test_a_folder_of_notebooks_is_read_by_name(site: Site) -> None:
    found = parse_book(site({"10-b.ipynb": LESSON, "2-a.ipynb": LESSON, "index.ipynb": LESSON, "deep/c.ipynb": LESSON}))
    assert [page.url for page in found.pages] == ["/index.html", "/2-a.html", "/10-b.html", "/deep/c.html"]
    assert found.kind == "jupyter"


@pytest.mark.parametrize("text", ["{", "[]", '"x"', '{"cells": [', "[" * 100_000])
def test_a_notebook_that_cannot_be_read_is_told_and_the_rest_goes_on(site: Site, text: str) -> None:
    found = parse_book(site({"a.ipynb": LESSON, "b.ipynb": text}))
    assert [page.file for page in found.pages] == ["a.ipynb"]
    assert [(notice.file, notice.lost) for notice in found.notices] == [("b.ipynb", True)]


def test_a_notebook_alone_that_cannot_be_read_is_an_error(site: Site) -> None:
    with pytest.raises(SourceError, match=r"no notebook"):
        parse_book(site({"b.ipynb": "{"}) / "b.ipynb")


# What is written in a cell, and the anchor of its heading as Jupyter Book makes it.
ANCHORS = [
    ("# Getting started", "getting-started"),
    ("## Set up", "set-up"),
    ("## Set up", "id1"),
    ("## NumPy & friends", "numpy-friends"),
    ("## 1. Load the data", "load-the-data"),
    ("## The `fit` method", "the-fit-method"),
    ("## $x^2$ grows", "x-2-grows"),
    ("## Don't panic", "don-t-panic"),
    ("## über alles", "uber-alles"),
    ("### Q&A", "q-a"),
    ("### Step 1: go", "step-1-go"),
    ("### **Bold** move", "bold-move"),
    ("(named)=\n### A target before", "a-target-before"),
    ("### [Link](x.md) here", "link-here"),
    ("### a_b_c", "a-b-c"),
    ("### End.", "end"),
    ("### End.", "id2"),
    ("### Two  spaces", "two-spaces"),
    ("### v1.0.0", "v1-0-0"),
    ("### 42", "id3"),
]


def test_anchors_of_notebooks_are_those_of_docutils(site: Site) -> None:
    cells = [cell("markdown", source) for source, _ in ANCHORS]
    (page,) = parse_book(site({"a.ipynb": notebook(*cells)}) / "a.ipynb").pages
    assert [block.anchor for block in page.blocks if block.kind == "heading"] == [anchor for _, anchor in ANCHORS]


NAMES = """cells cell_type source metadata tags worksheets level language input file chapters parts root sections title
children""".split()
_JSON = st.recursive(
    st.one_of(
        st.none(),
        st.booleans(),
        st.integers(),
        st.text(max_size=5),
        st.sampled_from(["code", "markdown", "# H", "```"]),
    ),
    lambda inner: st.one_of(
        st.lists(inner, max_size=4),
        st.dictionaries(
            st.sampled_from(NAMES),
            inner,
            max_size=5,
        ),
    ),
    max_leaves=25,
)


@given(_JSON)
def test_any_json_ends_well(tmp_path_factory: pytest.TempPathFactory, value: Any) -> None:
    path = tmp_path_factory.getbasetemp() / "any.ipynb"
    path.write_text(json.dumps(value))
    load_notebook_as_markdown(path, "any.ipynb")
    parse_toc(value)


def test_a_list_of_pages_within_a_page_gives_way_to_the_table_of_contents(tmp_path: Path) -> None:
    (tmp_path / "_toc.yml").write_text("format: jb-book\nroot: index\nchapters:\n- file: a\n")
    (tmp_path / "index.md").write_text("# Start\n\nWords.\n")
    (tmp_path / "a.md").write_text("# A\n\n```{toctree}\nb\n```\n\nMore words.\n")
    (tmp_path / "b.md").write_text("# B\n\nOther words.\n")
    book = parse_book(tmp_path)
    assert [page.file for page in book.pages][:2] == ["index.md", "a.md"]
