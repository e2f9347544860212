"""Books that say in a SUMMARY.md what they are made of."""

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


def test_the_book_is_what_it_lists_in_its_order_and_the_page_beside_it(site: Site) -> None:
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
        SourceNotice("SUMMARY.md", "lists gone.md, which is not there", lost=True),
        SourceNotice("SUMMARY.md", "2 files left out, not listed here: other.md, sub/README.md"),
    )


def test_what_is_left_out_is_counted_and_the_first_few_are_named(site: Site) -> None:
    root = site({"SUMMARY.md": "* [A](a.md)", "a.md": "a"} | {f"draft{n}.md": "d" for n in range(12)})
    [notice] = parse_book(root).notices
    assert "12 files" in notice.message
    assert notice.message.endswith("draft4.md and 7 more")


@pytest.mark.parametrize("folder", ["", "en/src/"])
def test_addresses_begin_where_it_stands(site: Site, folder: str) -> None:
    listed = {"SUMMARY.md": "* [I](README.md)\n* [A](pages/a.md)", "README.md": "# I", "pages/a.md": "a"}
    book = parse_book(site({"README.md": "no"} | {f"{folder}{name}": text for name, text in listed.items()}))
    assert [page.url for page in book.pages] == ["/", "/pages/a"]


def test_a_chapter_is_an_entry_of_the_first_level_or_the_part_of_one_that_stands_alone(site: Site) -> None:
    names = "README alone led/README led/inner led/inmost leaf other after last".split()
    assert chapters(site({"SUMMARY.md": PARTS} | {f"{name}.md": "text" for name in names})) == {
        "README.md": "Before",
        "alone.md": "One",
        "led/README.md": "Led",
        "led/inner.md": "Led",
        "led/inmost.md": "Led",
        "leaf.md": "Unlinked branch",
        "other.md": "Two",
        "after.md": "After",
        "last.md": "Last",
    }


def test_its_label_names_a_page_without_a_heading(site: Site) -> None:
    root = site({"SUMMARY.md": "* [The `a` page](a.md)\n* [B](b.md)", "a.md": "text", "b.md": "# Own"})
    assert [page.title for page in parse_book(root).pages] == ["The a page", "Own"]


def test_a_page_that_only_has_its_name_or_lists_nothing_is_a_page(site: Site) -> None:
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
def test_a_broken_configuration_stops_nothing(site: Site, broken: str) -> None:
    root = site({"book.toml": broken, "book.json": "[" * 100_000, "src/SUMMARY.md": "* [A](a.md)", "src/a.md": "a"})
    assert [page.file for page in parse_book(root).pages] == ["src/a.md"]


def test_of_several_the_topmost_counts_and_then_the_longest(site: Site) -> None:
    files = {"x/a/SUMMARY.md": "* [A](a.md)\n* [B](b.md)", "x/a/a.md": "a", "x/a/b.md": "b"}
    files |= {"one/SUMMARY.md": "* [A](a.md)", "one/a.md": "a"}
    files |= {"two/SUMMARY.md": "* [A](a.md)\n* [B](b.md)", "two/a.md": "a", "two/b.md": "b"}
    assert [page.file for page in parse_book(site(files), "markdown").pages] == ["two/a.md", "two/b.md"]
