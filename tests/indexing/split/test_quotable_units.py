"""Tests which parts of a chunk an answer can quote."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from bookbound.domain.document import Block, Page, SourceSpan
from bookbound.indexing.split import split_page
from bookbound.sources.markdown import render_markdown
from bookbound.sources.markdown.dialect import PLAIN_MARKDOWN

Build = Callable[..., Page]


def quotes(page: Page, budget: int = 400) -> list[tuple[str, str]]:
    chunks = split_page(page, len, budget)
    return [(unit.kind, chunk.text[unit.start : unit.end]) for chunk in chunks for unit in chunk.units]


def render_page(source: str) -> Page:
    text, runs, blocks, _ = render_markdown(source, PLAIN_MARKDOWN)
    return Page("a.md", "/a", "", "", 0, source, text, runs, blocks)


def test_a_paragraph_is_quoted_by_its_sentences() -> None:
    page = render_page("One. Two.\n\n> Three. Four.\n\n:::note Mind\nFive. Six.\n:::\n")
    assert quotes(page) == [("sentence", word) for word in ("One.", "Two.", "Three.", "Four.", "Mind", "Five.", "Six.")]


def test_code_is_quoted_whole_with_its_indentation() -> None:
    code = "    def f():\n\n        # One. Two.\n        return 1"
    assert quotes(render_page(f"So:\n\n```python\n{code}\n```\n\nDone.")) == [
        ("sentence", "So:"),
        ("code", code),
        ("sentence", "Done."),
    ]


def test_code_too_large_for_a_chunk_is_quoted_in_parts(build: Build) -> None:
    first, second = "    a = 1\n" * 20 + "    a = 2", "    b = 1\n" * 20 + "    b = 2"
    found = quotes(build(("code", f"{first}\n\n{second}")), 300)
    assert found == [("code", first), ("code", second)]


def test_a_table_is_quoted_by_its_rows_and_header() -> None:
    assert quotes(render_page("| A | B |\n|---|---|\n| one. Two. | 2 |\n| three | 4 |\n")) == [
        ("row", "A | B"),
        ("row", "one. Two. | 2"),
        ("row", "three | 4"),
    ]


def test_a_table_without_rows_is_quoted_by_its_lines(build: Build) -> None:
    assert quotes(build(("table", "A B\n\none. Two."))) == [("row", "A B"), ("row", "one. Two.")]


def test_a_list_is_quoted_by_its_items_and_nested_items() -> None:
    assert quotes(render_page("- One. It is.\n- Two\n  - Three\n  - Four\n\n1. Five\n2. Six\n")) == [
        ("item", "- One. It is."),
        ("item", "- Two"),
        ("item", "- Three"),
        ("item", "- Four"),
        ("item", "1. Five"),
        ("item", "2. Six"),
    ]


def test_an_item_of_several_paragraphs_is_quoted_by_its_sentences() -> None:
    assert quotes(render_page("1. One. Two.\n\n   Three.\n\n   ```\n   code\n   ```\n")) == [
        ("item", "1. One."),
        ("sentence", "Two."),
        ("sentence", "Three."),
        ("code", "code"),
    ]


def test_a_long_item_is_quoted_by_its_sentences() -> None:
    first, second = "It " + "goes " * 40 + "on.", "Then it " + "rests " * 20 + "here."
    assert quotes(render_page(f"- {first} {second}\n")) == [("item", f"- {first}"), ("sentence", second)]


def test_an_item_that_begins_with_code_keeps_the_code_whole() -> None:
    assert quotes(render_page("1. ```\n   a = 1\n   ```\n\n   It is one.\n")) == [
        ("sentence", "1."),
        ("code", "a = 1"),
        ("sentence", "It is one."),
    ]


def test_a_formula_and_a_heading_are_quoted_whole(build: Build) -> None:
    page = build(
        ("paragraph", "So."), ("formula", "a = b.\nC = d."), ("admonition", [("h3", "Why. So"), ("code", "x")])
    )
    assert quotes(page) == [
        ("sentence", "So."),
        ("formula", "a = b.\nC = d."),
        ("heading", "Why. So"),
        ("code", "x"),
    ]


def test_text_outside_the_inner_blocks_is_quoted_too() -> None:
    text = "Title. Words\n\nsaid.\n\nLoose"
    blocks = (Block("admonition", 0, len(text), children=(Block("paragraph", 7, 19),)),)
    page = Page("a", "/a", "", "", 0, text, text, (SourceSpan(0, len(text), 0, len(text)),), blocks)
    assert [words for _, words in quotes(page)] == ["Title.", "Words", "said.", "Loose"]


def test_units_do_not_change_the_id(build: Build) -> None:
    page = build(("paragraph", "One. Two."))
    coded = replace(page, blocks=(replace(page.blocks[0], kind="code"),))
    [chunk], [other] = split_page(page, len, 240), split_page(coded, len, 240)
    assert chunk.id == other.id
    assert chunk.units != other.units
