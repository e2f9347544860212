"""reStructuredText and plain text as a reader sees them."""

from __future__ import annotations

import pytest

from bookbound.book import Block
from bookbound.read.text import typeset


def seen(source: str) -> str:
    return typeset(source, marked_up=True)[0]


def shape(source: str, marked_up: bool = True) -> list[object]:
    text, _, blocks = typeset(source, marked_up)

    def one(block: Block) -> object:
        words = text[block.start : block.end]
        return (block.kind, [one(child) for child in block.children]) if block.children else (block.kind, words)

    return [one(block) for block in blocks]


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("A ``literal *x*`` and **strong** *word*.", "A literal *x* and strong word."),
        ("See `the guide <https://x.y/z>`__ or `here\n<https://x.y>`_.", "See the guide or here."),
        (":doc:`Title <../a/b>` and :ref:`label`", "Title and label"),
        (":class:`~pkg.mod.Thing` and :math:`a_{<}`", "Thing and a_{<}"),
        (":icon:`fa-x` Linux", "Linux"),
        ("A Name_ and `two words`_ [1]_ here", "A Name and two words here"),
        ("https://x.y/a_b_ stays, snake_case too", "https://x.y/a_b_ stays, snake_case too"),
        ("re\\ ``st``\\ ructured \\*star", "restructured *star"),
        ("2 * 3 * 4 and a*b*c", "2 * 3 * 4 and a*b*c"),
        ("|x| is\n\n.. |x| replace:: **bold** text", "bold text is"),
        ("—**not** this", "—not this"),
    ],
)
def test_inline_markup_is_not_seen_and_words_are(source: str, text: str) -> None:
    assert seen(source) == text


def test_headings_take_their_level_from_the_order_of_their_styles() -> None:
    source = "=====\nTitle\n=====\n\nOne\n===\n\nTwo\n---\n\nThree\n=====\n\nTwo\n---\n"
    text, _, blocks = typeset(source, marked_up=True)
    assert [(text[b.start : b.end], b.level, b.anchor) for b in blocks] == [
        ("Title", 1, "title"),
        ("One", 2, "one"),
        ("Two", 3, "two"),
        ("Three", 2, "three"),
        ("Two", 3, "id1"),
    ]


def test_a_line_alone_is_no_heading() -> None:
    assert shape("Above\n\n-----\n\nBelow") == [("paragraph", "Above"), ("paragraph", "Below")]


def test_code_is_announced_by_colons_or_a_directive() -> None:
    assert shape("Run this::\n\n    ls -l\n\n      deep\n\nDone") == [
        ("paragraph", "Run this:"),
        ("code", "ls -l\n\n  deep"),
        ("paragraph", "Done"),
    ]
    assert shape("::\n\n  alone") == [("code", "alone")]
    assert shape(".. code-block:: python\n   :linenos:\n   :caption: a.py\n\n   x = 1\n") == [
        ("paragraph", "a.py"),
        ("code", "x = 1"),
    ]
    assert shape(".. math:: a = b\n   :label: eq") == [("formula", "a = b")]


def test_comments_targets_and_the_machinery_of_pages_are_not_seen() -> None:
    unseen = ".. a comment\n   goes on\n\n.. _label:\n\n.. _a: https://x.y\n\n__ https://x.y\n\n:orphan:\n\n"
    unseen += (
        ".. toctree::\n   :maxdepth: 2\n\n   a\n   b\n\n.. contents:: Contents\n\n.. image:: x.png\n   :width: 3\n\n"
    )
    unseen += "..\n\n   also a comment\n\n.. include:: x.rst\n\n.. highlight:: python\n\n"
    assert seen(unseen + "Text") == "Text"


def test_directives_show_their_titles_and_bodies() -> None:
    assert shape(".. note:: Mind\n   the gap\n\n   Twice") == [
        ("admonition", [("paragraph", "note"), ("paragraph", "Mind the gap"), ("paragraph", "Twice")])
    ]
    assert shape(".. admonition:: Title\n   :class: x\n\n   Body") == [
        ("admonition", [("paragraph", "Title"), ("paragraph", "Body")])
    ]
    assert seen(".. tabs::\n\n   .. group-tab:: Linux\n\n      .. code-block:: sh\n\n         ls") == "Linux\n\nls"
    assert seen(".. figure:: a.png\n   :alt: A hand\n\n   The caption") == "A hand\n\nThe caption"
    assert seen(".. [1] A footnote\n   goes on") == "A footnote goes on"


def test_lists_hold_items_that_begin_with_their_markers() -> None:
    source = "- one\n  more\n\n  * deep\n\n- two\n\n1. first\n#. second\n"
    assert seen(source) == "- one more\n* deep\n- two\n\n1. first\n#. second"
    assert shape("* a\n* b") == [("list", [("item", [("paragraph", "a")]), ("item", [("paragraph", "b")])])]


def test_drawn_tables_become_rows() -> None:
    grid = (
        "+-----+-----+\n| A   | |b| |\n+=====+=====+\n| one | two |\n|     | 3   |\n+-----+-----+\n\n.. |b| replace:: B"
    )
    assert seen(grid) == "A | B\none | two\n | 3"
    assert seen("===== ====\nName  Kind\n===== ====\nx     y z\n===== ====\n\nAfter") == "Name | Kind\nx | y z\n\nAfter"
    assert seen(
        ".. list-table:: Title\n   :header-rows: 1\n\n   * - A\n     - B\n   * - c\n       d\n     - ``e``"
    ) == ("Title\n\nA | B\nc d | e")


def test_definitions_and_quotes_are_paragraphs() -> None:
    assert shape("Term\n   Its meaning.\n\n   And more.") == [
        ("paragraph", "Term"),
        ("paragraph", "Its meaning."),
        ("paragraph", "And more."),
    ]


def test_in_plain_text_every_character_counts() -> None:
    assert shape("A Title\n=======\n\n*Not* `markup`_ here.\n.. note:: nor\n\n- an item", marked_up=False) == [
        ("heading", "A Title"),
        ("paragraph", "*Not* `markup`_ here. .. note:: nor"),
        ("list", [("item", [("paragraph", "an item")])]),
    ]
