"""Books whose order is written as YAML or in their opening pages."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from bookbound.sources import parse_book

Site = Callable[[dict[str, str]], Path]

TOCTREE = """
- title: Unit 0
  sections:
  - {local: unit0/welcome, title: Welcome}
  - title: Deeper
    sections: [{local: unit0/deep, title: Deep}]
- {local: end, title: The end}
- {local: gone, title: Gone}
"""


def test_a_toctree_orders_and_names_its_pages(site: Site) -> None:
    pages = {"units/en/unit0/deep.md": "d", "units/en/unit0/welcome.mdx": "w", "units/en/end.mdx": "e"}
    book = parse_book(site({"units/en/_toctree.yml": TOCTREE, "README.md": "# The Course", **pages}))
    assert (book.title, book.kind) == ("The Course", "markdown")
    assert [page.file for page in parse_book(site({}) / "units" / "en" / "unit0").pages] == ["deep.md", "welcome.mdx"]
    assert [(page.url, page.title, page.chapter) for page in book.pages] == [
        ("/unit0/welcome", "Welcome", "Unit 0"),
        ("/unit0/deep", "Deep", "Unit 0"),
        ("/end", "The end", "The end"),
    ]


@pytest.mark.parametrize("broken", ["[", "3", "- 3", "- {sections: 3}", "- {local: 3}", "- {local: '\\0'}"])
def test_a_broken_toctree_stops_nothing(site: Site, broken: str) -> None:
    assert len(parse_book(site({"_toctree.yml": broken, "a.md": "a"})).pages) == 1


def test_the_opening_page_of_a_folder_may_order_it(site: Site) -> None:
    index = "# Part\n\nWords.\n\n```toc\n:maxdepth: 2\n\nz\nb\n```\n"
    root = site({"part/index.md": index, "part/a.md": "a", "part/b.md": "b", "part/z.md": "z", "c.md": "c"})
    book = parse_book(root)
    assert [page.file for page in book.pages] == ["c.md", "part/index.md", "part/z.md", "part/b.md", "part/a.md"]
    assert book.pages[1].text == "Part\n\nWords."


def test_references_by_number_are_no_words(site: Site) -> None:
    source = "# T\n:label:`sec_t`\n\nAs :numref:`fig_x` shows :cite:`A.2020`, it holds.\n"
    [page] = parse_book(site({"a.md": source})).pages
    assert page.text == "T\n\nAs shows , it holds."


def test_a_course_is_read_in_its_order(shared: Path) -> None:
    folder = shared / "data" / "books" / "hf_deep_rl_course"
    if not folder.is_dir():
        pytest.skip("the course is not among the real books here")
    book = parse_book(folder)
    assert len(book.pages) == 114
    assert [page.file.removeprefix("units/en/") for page in book.pages[:5]] == [
        *("unit0/introduction.mdx", "unit0/setup.mdx", "unit0/discord101.mdx"),
        *("unit1/introduction.mdx", "unit1/what-is-rl.mdx"),
    ]
    assert list(dict.fromkeys(page.chapter for page in book.pages))[:3] == [
        "Unit 0. Welcome to the course",
        "Unit 1. Introduction to Deep Reinforcement Learning",
        "Bonus Unit 1. Introduction to Deep Reinforcement Learning with Huggy",
    ]
