"""Numbers of sections, figures, tables, code blocks and formulas as Sphinx shows them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from bookbound.domain.document import Page
from bookbound.sources import parse_book
from bookbound.sources.generators.sphinx.numbering import BookNumbering, NumberingConfig
from bookbound.sources.generators.sphinx.page_order import BookDrafts
from bookbound.sources.page_builder import RenderedPage
from bookbound.sources.rst.page_draft import OutlineItem, PageDraft, Toctree

Site = Callable[[dict[str, str]], Path]

FIGURES = """
.. _figures:

Figures
=======

:numref:`fig-one`, :numref:`Table %s <tab-one>`, :numref:`code-one`, :numref:`sec-deep`, :numref:`fig-two`,
:numref:`Picture {number} called {name} <fig-one>`, :numref:`figures`, :ref:`fig-one`, :numref:`fig-plain`, :eq:`law`,
:numref:`nowhere`.

.. _fig-one:

.. figure:: a.png

   The *first* caption

.. figure:: without.png

.. _sec-deep:

Deep section
------------

.. _tab-one:

.. table:: Table of one

   === ===
   A   B
   === ===
   1   2
   === ===

.. code-block:: python
   :caption: The code
   :name: code-one

   x = 1

.. figure:: b.png
   :name: fig-two

   Second caption

Deeper
~~~~~~

.. math:: f = m a
   :label: law
"""
PAGES = {
    "conf.py": "numfig = True\nextensions = ['myst_parser']\nnumfig_format = {'code-block': 'Code %s'}\n",
    "index.rst": "Book\n====\n\n.. toctree::\n   :numbered: 2\n\n   figures\n   page\n\n.. toctree::\n\n   plain\n",
    "figures.rst": FIGURES,
    "page.md": "# Page\n\n```{toctree}\nchild\n```\n\n## One\n\n"
    "```{figure} a.png\n:name: fig-md\n\nOf *Markdown*\n```\n\n"
    "{numref}`fig-md`, {numref}`fig-one`, {eq}`sum`.\n\n```{list-table} Listed\n\n* - a\n  - b\n```\n\n"
    "### Too deep\n\n$$\na = b\n$$ (sum)\n",
    "child.rst": "Child\n=====\n\n.. figure:: c.png\n   :name: fig-c\n\n   Of the child\n\n:numref:`fig-c`\n",
    "plain.rst": "Plain\n=====\n\n.. figure:: d.png\n   :name: fig-plain\n\n   Alone\n",
}


def test_numbers_run_through_the_whole_book(site: Site) -> None:
    pages = {page.file: page.text.split("\n\n") for page in parse_book(site(PAGES)).pages}
    assert pages["figures.rst"] == [
        "1. Figures",
        "Fig. 1.1, Table 1.1, Code 1.1, Section 1.1, Fig. 1.2, Picture 1.1 called The first caption, Section 1,"
        " The first caption, Fig. 1, (1.1), nowhere.",
        "Fig. 1.1 The first caption",
        "1.1. Deep section",
        "Table 1.1 Table of one",
        "A | B\n1 | 2",
        "Code 1.1 The code",
        "x = 1",
        "Fig. 1.2 Second caption",
        "Deeper",
        "f = m a (1.1)",
    ]
    assert pages["page.md"] == [
        "2. Page",
        "2.2. One",
        "Fig. 2.2 Of Markdown",
        "Fig. 2.2, Fig. 1.1, (2.1).",
        "Table 2.1 Listed",
        "a | b",
        "Too deep",
        "a = b",
        "(2.1)",
    ]
    assert pages["child.rst"] == ["2.1. Child", "Fig. 2.1 Of the child", "Fig. 2.1"]
    assert pages["plain.rst"] == ["Plain", "Fig. 1 Alone"]


def test_titles_of_pages_and_chapters_include_their_numbers(site: Site) -> None:
    assert [(page.title, page.chapter) for page in parse_book(site(PAGES)).pages] == [
        ("Book", "Book"),
        ("1. Figures", "1. Figures"),
        ("2. Page", "2. Page"),
        ("2.1. Child", "2. Page"),
        ("Plain", "Plain"),
    ]


def test_numbers_do_not_change_anchors(site: Site) -> None:
    pages = {page.file: page for page in parse_book(site(PAGES)).pages}
    anchors = [block.anchor for block in pages["figures.rst"].blocks if block.anchor]
    # Sphinx gives an element with a caption an id before it moves the label above it there.
    assert anchors == ["figures", "id2", "deep-section", "id3", "code-one", "fig-two", "deeper", "equation-law"]
    headings = [block.anchor for block in pages["page.md"].blocks if block.kind == "heading"]
    assert headings == ["page", "one", "too-deep"]


def test_without_numfig_only_formulas_are_numbered_page_by_page(site: Site) -> None:
    pages = PAGES | {"conf.py": "extensions = ['myst_parser']\n"}
    texts = {page.file: page.text for page in parse_book(site(pages)).pages}
    assert "\n\nThe first caption\n\n" in texts["figures.rst"]
    assert "fig-one, Table %s, code-one, Section 1.1" in texts["figures.rst"]
    assert texts["figures.rst"].endswith("f = m a (1)")
    assert "(1)." in texts["page.md"]


def test_every_word_of_a_numbered_page_has_an_exact_position(site: Site, faults: Callable[[Page], list[str]]) -> None:
    assert [fault for page in parse_book(site(PAGES)).pages for fault in faults(page)] == []


_OUTLINES = st.lists(
    st.one_of(
        st.builds(OutlineItem, st.just("section"), st.integers(1, 5), st.just(("s",)), st.just("T")),
        st.builds(
            OutlineItem, st.sampled_from(("figure", "displaymath")), st.integers(0, 5), st.just(("f",)), st.just("C")
        ),
        st.builds(OutlineItem, st.just("toctree"), st.integers(0, 5), st.just(("0",))),
    ),
    max_size=8,
).map(tuple)


@given(st.lists(_OUTLINES, min_size=1, max_size=4), st.integers(0, 3), st.booleans())
def test_any_outline_can_be_numbered_even_with_circular_toctrees(
    outlines: list[tuple[OutlineItem, ...]], depth: int, numfig: bool
) -> None:
    toctrees = (Toctree(tuple(("", str(name)) for name in range(len(outlines))), numbered_levels=depth),)
    drafts = {
        str(name): PageDraft("", "", "T", {}, toctrees, lambda references: RenderedPage("", (), ()), outline=outline)
        for name, outline in enumerate(outlines)
    }
    numbering = BookNumbering(BookDrafts(drafts, (".rst",)), "0", NumberingConfig(numfig=numfig))
    for name in drafts:
        assert all(isinstance(numbering.format_number(name, target), str) for target in ("s", "f", "x"))
