"""docutils parses one page at a time and keeps nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from docutils.parsers.rst import directives, roles, states
from tests.sources.rst.helpers import HERE, make_context

from bookbound.sources.rst.docutils import RstTree, parse_rst
from bookbound.sources.rst.docutils.content_directive import ParseContext, split_safe_lines


def parse(source: str, **markup: Any) -> RstTree | None:
    return parse_rst(source, ParseContext(make_context(**markup), HERE / "page.rst"))


def parse_words(source: str) -> str:
    tree = parse(source)
    return " ".join(tree.root.astext().split()) if tree else ""


def test_parsing_leaves_the_global_tables_of_docutils_unchanged() -> None:
    def tables() -> tuple[object, ...]:
        return directives._directives, roles._roles, states.RSTState.nested_sm  # type: ignore[attr-defined]

    before, names = tables(), sorted(roles._roles)  # type: ignore[attr-defined]
    assert parse(".. role:: mine\n\n:mine:`x` :func:`y`\n\n.. note:: z")
    assert parse("- " * 3_000 + "x") is None
    assert all(one is other for one, other in zip(tables(), before, strict=True))
    assert sorted(roles._roles) == names  # type: ignore[attr-defined]


def test_definitions_of_one_page_are_unknown_on_the_next() -> None:
    assert parse_words(
        ".. role:: raw-words(raw)\n   :format: html\n\n.. default-role:: kbd\n\n|a|\n\n.. |a| replace:: b"
    )
    assert parse_words(":raw-words:`shown` `title` |a|") == "shown title a"


def test_files_outside_the_book_are_not_read(tmp_path: Path) -> None:
    secret = tmp_path / "secret.txt"
    secret.write_text("secret words")
    for name in ("include::", "literalinclude::", "raw:: html\n   :file:", "csv-table:: t\n   :file:"):
        assert "secret words" not in parse_words(f".. {name} {secret}\n")


def test_explicit_targets_of_titled_elements_are_labels() -> None:
    source = ".. _one:\n.. _Two Words:\n\nTitle\n=====\n\n.. _para:\n\nText\n\n"
    source += ".. _fig:\n\n.. figure:: x\n\n   The *caption*\n"
    tree = parse(source)
    assert tree
    assert tree.labels == {"one": "Title", "two words": "Title", "fig": "The caption"}
    assert tree.title == "Title"


def test_prolog_and_epilog_are_parsed_with_the_page() -> None:
    tree = parse("|a| and |b|", prolog=".. |a| replace:: x", epilog=".. |b| replace:: y")
    assert tree
    assert [getattr(tree.find_substitution(name), "children", None) for name in ("a", "b")] == [["x"], ["y"]]


@pytest.mark.parametrize("text", ["x" * 10_001, "\n" * 60_000 + "x", "+" + "-+" * 300])
def test_text_that_would_take_docutils_too_long_is_not_parsed(text: str) -> None:
    assert split_safe_lines(text) is None


def test_lines_break_only_where_editors_break_them() -> None:
    assert split_safe_lines("a\u2028b\x1cc\0\td\n e") == ["a b c\ufffd  d", " e"]


def test_markup_that_would_take_too_long_is_shown_as_written() -> None:
    assert parse_words("*a " * 3_000 + "\n\nEnd *here*.").endswith("End *here*.")
