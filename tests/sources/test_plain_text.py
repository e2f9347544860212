"""Renders plain text."""

from __future__ import annotations

from tests.sources.shapes import Shape, shape_of

from bookbound.sources.plain_text import render_plain_text


def shape(source: str) -> Shape:
    return shape_of(render_plain_text(source))


def test_markup_is_text() -> None:
    assert shape("A Title\n=======\n\n*Not* `markup`_ here.\n.. note:: nor\n\n- an item") == [
        ("heading", "A Title"),
        ("paragraph", "*Not* `markup`_ here. .. note:: nor"),
        ("list", [("item", [("paragraph", "an item")])]),
    ]


def test_heading_levels_follow_the_order_of_their_styles() -> None:
    source = "=====\nTitle\n=====\n\nOne\n===\n\nTwo\n---\n\nThree\n=====\n\nTwo\n---\n"
    text, _, blocks, _ = render_plain_text(source)
    assert [(text[b.start : b.end], b.level, b.anchor) for b in blocks] == [
        ("Title", 1, "title"),
        ("One", 2, "one"),
        ("Two", 3, "two"),
        ("Three", 2, "three"),
        ("Two", 3, "id1"),
    ]


def test_a_separate_rule_is_not_a_heading() -> None:
    assert shape("Above\n\n-----\n\nBelow") == [("paragraph", "Above"), ("paragraph", "Below")]


def test_two_colons_announce_code() -> None:
    assert shape("Run this::\n\n    ls -l\n\n      deep\n\nDone") == [
        ("paragraph", "Run this:"),
        ("code", "ls -l\n\n  deep"),
        ("paragraph", "Done"),
    ]
    assert shape("::\n\n  alone") == [("code", "alone")]


def test_list_items_begin_with_their_markers_and_nested_ones_are_indented() -> None:
    source = "- one\n  more\n\n  * deep\n\n- two\n\n1. first\n#. second\n"
    assert render_plain_text(source).text == "- one more\n  * deep\n- two\n\n1. first\n#. second"


def test_ascii_tables_become_rows() -> None:
    grid = "+-----+-----+\n| A   | b   |\n+=====+=====+\n| one | two |\n|     | 3   |\n+-----+-----+"
    assert render_plain_text(grid).text == "A | b\none | two\n | 3"
    columns = "===== ====\nName  Kind\n===== ====\nx     y z\n===== ====\n\nAfter"
    assert render_plain_text(columns).text == "Name | Kind\nx | y z\n\nAfter"


def test_indented_lines_are_separate_paragraphs() -> None:
    assert shape("Term\n   Its meaning.\n\n   And more.") == [
        ("paragraph", "Term"),
        ("paragraph", "Its meaning."),
        ("paragraph", "And more."),
    ]
