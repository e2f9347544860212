"""Reads tables of contents."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from bookbound.domain.document import SourceNotice
from bookbound.sources import parse_book

Site = Callable[[dict[str, str]], Path]

PARTS = """# Summary

[Before](README.md)

# One

- [Alone](alone.md)
- [Led](led/README.md)
    - [Inner](led/inner.md)
        - [Draft]()
        - [Inmost](led/inmost.md)
- Unlinked **branch**
    - [Leaf](leaf.md)

## Two

* [Other](other.md)

-----

[After](after.md)
[Last](last.md)
"""


def chapters(root: Path) -> dict[str, str]:
    return {page.file: page.chapter for page in parse_book(root).pages}


def test_a_summary_lists_the_pages_in_order_after_the_index_page_next_to_it(site: Site) -> None:
    root = site(
        {
            "SUMMARY.md": "* [Z](z.md)\n* [In](sub/in%20there.md#x)\n* [A](./a.md)\n* [Gone](gone.md)\n"
            "* [L](LICENSE.md)\n<!-- * [No](other.md) -->\n* [Site](https://x.example/other.md)",
            "README.md": "r",
            "LICENSE.md": "l",
            "a.md": "a",
            "other.md": "o",
            "sub/README.md": "s",
            "sub/in there.md": "i",
            "z.md": "z",
        }
    )
    book = parse_book(root)
    assert [page.file for page in book.pages] == ["README.md", "z.md", "sub/in there.md", "a.md", "LICENSE.md"]
    assert book.notices == (
        SourceNotice("SUMMARY.md", "lists gone.md, which does not exist", lost=True),
        SourceNotice("SUMMARY.md", "2 files left out, not listed here: other.md, sub/README.md"),
    )


def test_unlisted_files_are_counted_and_the_first_are_named(site: Site) -> None:
    root = site({"SUMMARY.md": "* [A](a.md)", "a.md": "a"} | {f"draft{n}.md": "d" for n in range(12)})
    [notice] = parse_book(root).notices
    assert "12 files" in notice.message
    assert notice.message.endswith("draft4.md and 7 more")


@pytest.mark.parametrize("folder", ["", "en/src/"])
def test_urls_are_relative_to_the_folder_of_the_summary(site: Site, folder: str) -> None:
    listed = {"SUMMARY.md": "* [I](README.md)\n* [A](pages/a.md)", "README.md": "# I", "pages/a.md": "a"}
    book = parse_book(site({"README.md": "no"} | {f"{folder}{name}": text for name, text in listed.items()}))
    assert [page.url for page in book.pages] == ["/", "/pages/a"]


def test_a_chapter_is_a_first_level_entry_or_a_part_in_which_no_entry_has_children(site: Site) -> None:
    names = "README alone led/README led/inner led/inmost leaf other after last".split()
    assert chapters(site({"SUMMARY.md": PARTS} | {f"{name}.md": "text" for name in names})) == {
        "README.md": "Before",
        "alone.md": "Alone",
        "led/README.md": "Led",
        "led/inner.md": "Led",
        "led/inmost.md": "Led",
        "leaf.md": "Unlinked branch",
        "other.md": "Two",
        "after.md": "After",
        "last.md": "Last",
    }


def test_the_label_is_the_title_of_a_page_without_a_heading(site: Site) -> None:
    root = site({"SUMMARY.md": "* [The `a` page](a.md)\n* [B](b.md)", "a.md": "text", "b.md": "# Own"})
    assert [page.title for page in parse_book(root).pages] == ["The a page", "Own"]


def test_a_summary_that_lists_nothing_is_a_page(site: Site) -> None:
    root = site({"a.md": "a", "part/summary.md": "* [A](../a.md)", "end/SUMMARY.md": "All of [it](../a.md) in short."})
    assert set(chapters(root)) == {"a.md", "part/summary.md", "end/SUMMARY.md"}


@pytest.mark.parametrize(
    ("name", "configuration"),
    [
        ("book.toml", '[book]\ntitle = "Real"\nsrc = "de"\n[other]\ntitle = "no"'),
        ("book.json", '{"title": "Real", "root": "./de"}'),
    ],
)
def test_the_configuration_names_the_book_and_its_folder(site: Site, name: str, configuration: str) -> None:
    files = {
        name: configuration,
        "de/SUMMARY.md": "* [A](a.md)",
        "de/a.md": "a",
        "SUMMARY.md": "* [A](en/a.md)\n* [B](en/b.md)",
        "en/a.md": "a",
        "en/b.md": "b",
    }
    book = parse_book(site(files))
    assert (book.title, [page.file for page in book.pages]) == ("Real", ["de/a.md"])


@pytest.mark.parametrize("broken", ["[book", "book = 3", "[book]\ntitle = 3\nsrc = '\\u0000'", "[[book]]"])
def test_a_broken_book_configuration_is_ignored(site: Site, broken: str) -> None:
    root = site({"book.toml": broken, "book.json": "[" * 100_000, "src/SUMMARY.md": "* [A](a.md)", "src/a.md": "a"})
    assert [page.file for page in parse_book(root).pages] == ["src/a.md"]


def test_of_several_summaries_the_topmost_then_the_longest_counts(site: Site) -> None:
    files = {"x/a/SUMMARY.md": "* [A](a.md)\n* [B](b.md)", "x/a/a.md": "a", "x/a/b.md": "b"}
    files |= {"one/SUMMARY.md": "* [A](a.md)", "one/a.md": "a"}
    files |= {"two/SUMMARY.md": "* [A](a.md)\n* [B](b.md)", "two/a.md": "a", "two/b.md": "b"}
    assert [page.file for page in parse_book(site(files), "markdown").pages] == ["two/a.md", "two/b.md"]


TOCTREE = """
- title: Unit 0
  sections:
  - {local: unit0/welcome, title: Welcome}
  - title: Deeper
    sections: [{local: unit0/deep, title: Deep}]
- {local: end, title: The end}
- {local: gone, title: Gone}
"""


def test_a_toctree_file_orders_and_names_its_pages(site: Site) -> None:
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
def test_a_broken_toctree_file_is_ignored(site: Site, broken: str) -> None:
    assert len(parse_book(site({"_toctree.yml": broken, "a.md": "a"})).pages) == 1


def test_a_toc_block_in_the_index_page_orders_its_folder(site: Site) -> None:
    index = "# Part\n\nWords.\n\n```toc\n:maxdepth: 2\n\nz\nb\n```\n"
    root = site({"part/index.md": index, "part/a.md": "a", "part/b.md": "b", "part/z.md": "z", "c.md": "c"})
    book = parse_book(root)
    assert [page.file for page in book.pages] == ["c.md", "part/index.md", "part/z.md", "part/b.md", "part/a.md"]
    assert book.pages[1].text == "Part\n\nWords."


def test_numbered_references_are_not_visible(site: Site) -> None:
    source = "# T\n:label:`sec_t`\n\nAs :numref:`fig_x` shows :cite:`A.2020`, it holds.\n"
    [page] = parse_book(site({"a.md": source})).pages
    assert page.text == "T\n\nAs shows , it holds."


@pytest.mark.slow
def test_a_real_course_is_read_in_its_order(shared: Path) -> None:
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
