"""Notebooks as Markdown."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from tests.sources.notebooks import ANY_JSON, LESSON, cell, notebook

from bookbound.domain.document import Page
from bookbound.domain.errors import SourceError
from bookbound.sources import parse_book
from bookbound.sources.notebook import load_notebook_as_markdown

Site = Callable[[dict[str, str]], Path]


def test_a_notebook_shows_text_and_code_but_no_outputs(site: Site, faults: Callable[[Page], list[str]]) -> None:
    root = site({"lesson.ipynb": LESSON})
    (page,) = parse_book(root / "lesson.ipynb").pages
    assert page.text == ("The lesson\n\nSee intro. a plot\n\nx = 1\nx + 1\n\nshown = 1\n\nnever closed\n\nThe end")
    assert [block.kind for block in page.blocks] == ["heading", "paragraph", "code", "code", "code", "heading"]
    assert "```julia\nx = 1" in page.source
    assert not re.search("iVBOR|printed", page.source)
    assert faults(page) == []


def test_notebooks_of_version_3_are_read(tmp_path: Path) -> None:
    cells = [
        {"cell_type": "heading", "level": 2, "source": ["A", " title"]},
        {"cell_type": "code", "input": "x", "language": "r"},
    ]
    (tmp_path / "old.ipynb").write_text(json.dumps({"nbformat": 3, "worksheets": [{"cells": cells}]}))
    assert load_notebook_as_markdown(tmp_path / "old.ipynb", "old.ipynb")[0] == "## A title\n\n```r\nx\n```\n"


@pytest.mark.parametrize("text", ["{", "[]", '"x"', '{"cells": [', "[" * 100_000])
def test_an_invalid_notebook_gets_a_notice_and_the_others_are_read(site: Site, text: str) -> None:
    found = parse_book(site({"a.ipynb": LESSON, "b.ipynb": text}))
    assert [page.file for page in found.pages] == ["a.ipynb"]
    assert [(notice.file, notice.lost) for notice in found.notices] == [("b.ipynb", True)]


def test_a_single_invalid_notebook_is_an_error(site: Site) -> None:
    with pytest.raises(SourceError, match="not a valid notebook"):
        parse_book(site({"b.ipynb": "{"}) / "b.ipynb")


# The text of a cell, and the anchor that Jupyter Book gives its heading.
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


def test_headings_of_notebooks_have_the_anchors_of_docutils(site: Site) -> None:
    cells = [cell("markdown", source) for source, _ in ANCHORS]
    (page,) = parse_book(site({"a.ipynb": notebook(*cells)}) / "a.ipynb").pages
    assert [block.anchor for block in page.blocks if block.kind == "heading"] == [anchor for _, anchor in ANCHORS]


@given(ANY_JSON)
def test_any_json_is_accepted(tmp_path_factory: pytest.TempPathFactory, value: Any) -> None:
    path = tmp_path_factory.getbasetemp() / "any.ipynb"
    path.write_text(json.dumps(value))
    load_notebook_as_markdown(path, "any.ipynb")
