"""MyST Markdown as Sphinx and Jupyter Book show it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.sources.rst.helpers import HERE, FixedReferences, make_context
from tests.sources.shapes import Shape, shape_of

from bookbound.domain.document import Page
from bookbound.sources.myst import draft_myst
from bookbound.sources.page_builder import RenderedPage
from bookbound.sources.rst.page_draft import UNRESOLVED, PageDraft

REFERENCES = FixedReferences({"guide": "The Guide", "deep": "Deep *down*"})


def draft(source: str, folder: Path = HERE) -> PageDraft:
    return draft_myst(source, folder / "page.md", "page.md", make_context(folder))


def visible(source: str, folder: Path = HERE) -> str:
    return draft(source, folder).render(REFERENCES).text


def render(source: str) -> RenderedPage:
    return draft(source).render(UNRESOLVED)


def shape(source: str) -> Shape:
    return shape_of(render(source))


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("See {doc}`guide` and {ref}`Here <deep>`.", "See The Guide and Here."),
        ("See {ref}`deep`, {ref}`nowhere`.", "See Deep *down*, nowhere."),
        ("Press {kbd}`Ctrl` + {guilabel}`&OK`", "Press Ctrl + OK"),
        ("{func}`~a.b.__init__` and {class}`~a.B`", "__init__() and B"),
        ("Then {math}`x_1 * y` holds", "Then x_1 * y holds"),
        ("{unheard-of}`its *text*`", "its *text*"),
        ("Code `{ref}` stays, ``{doc}`x` `` too", "Code {ref} stays, {doc}`x` too"),
        ("[](guide.md) and [](#deep) and [](deep)", "The Guide and Deep *down* and Deep *down*"),
        ("% a comment\nText\n+++\nMore", "Text\n\nMore"),
        ("(label)=\n# Title", "Title"),
        ("<project:guide.md> and <project:#deep>", "The Guide and Deep *down*"),
        ("{icon}`fa-x` Linux", "Linux"),
    ],
)
def test_roles_show_their_text(source: str, text: str) -> None:
    assert visible(source) == text


def test_directives_show_their_titles_and_bodies() -> None:
    note = [("admonition", [("paragraph", "note"), ("paragraph", "Mind *the gap*.".replace("*", ""))])]
    assert shape("```{note}\nMind *the gap*.\n```") == note
    assert shape(":::{note}\nMind *the gap*.\n:::") == note
    assert shape("```{note} Mind *the gap*.\n```") == note
    assert shape("```{note}\n:class: tip\n\nMind *the gap*.\n```") == note
    assert shape("```{note}\n---\nclass: tip\n---\nMind *the gap*.\n```") == note
    assert shape(
        "````{admonition} A **title**\n:class: x\n\n```{code-block} python\n:caption: a.py\n\nx = 1\n```\n````\n\nAfter"
    ) == [
        ("admonition", [("paragraph", "A title"), ("paragraph", "a.py"), ("code", "x = 1")]),
        ("paragraph", "After"),
    ]
    assert shape("```{math}\n:label: eq\n\na = b\n```") == [("formula", "a = b")]
    assert shape("::::{tab-set}\n:::{tab-item} One\nBody\n:::\n::::") == [
        ("admonition", [("paragraph", "One"), ("paragraph", "Body")])
    ]
    assert visible("```{figure} a.png\n:alt: A hand\n:name: fig\n\nThe *caption*\n```") == "The caption"
    assert visible("```{unheard-of} argument\n:option: x\n\nIts body.\n```") == "Its body."
    assert visible("```{seealso}\nOther pages.\n```") == "See also\n\nOther pages."
    assert (
        visible("```{versionadded} 1.1 It *runs*.\nAnd more.\n```") == "Added in version 1.1:\n\nIt runs.\n\nAnd more."
    )
    assert visible("```{only} latex\nFor print.\n```\n\n```{only} html\nShown.\n```") == "Shown."
    assert visible("```{card} Title\nHead\n^^^\nBody\n+++\nFoot\n```") == "Title\n\nHead\n\nBody\n\nFoot"
    assert visible("```{figure} a.png\n---\nalt: A hand\nname: fig\n---\nThe caption\n```") == "The caption"
    assert visible("```{py:function} run(x)\nRuns.\n```") == "run(x)\n\nRuns."
    assert shape("```python\n{ref}`x`\n```") == [("code", "{ref}`x`")]


def test_tables_may_be_nested_lists_or_comma_separated_values(tmp_path: Path) -> None:
    listed = "```{list-table} Title\n:header-rows: 1\n\n* - A\n  - {kbd}`B`\n* - c\n\n    more\n  - d\n```\n\nAfter"
    assert visible(listed) == "Title\n\nA | B\nc more | d\n\nAfter"
    assert shape("```{list-table}\n* - A\n  - B\n```") == [("table", [("row", "A | B")])]
    assert visible('```{csv-table} T\n:header: "a", "b"\n\n1, "x, y"\n```') == "T\n\na | b\n1 | x, y"
    (tmp_path / "data.csv").write_text("h,i\n1,2\n")
    assert visible("```{csv-table}\n:file: data.csv\n```", tmp_path) == "h | i\n1 | 2"


def test_a_table_with_too_many_cells_is_shown_as_code() -> None:
    page = render("```{csv-table}\n" + "a," * 300 + "\n" + "x\n" * 300 + "```\n")
    assert [block.kind for block in page.blocks] == ["code"]


def test_labels_of_formulas_and_attributes_of_headings_are_hidden() -> None:
    assert shape("$$\na = b\n$$ (law)\n\nAfter") == [("formula", "a = b"), ("paragraph", "After")]
    blocks = render("{#here}\n## Title\n\nText").blocks
    assert [block.anchor for block in blocks] == ["here", ""]


def test_a_heading_does_not_use_a_label_of_the_page_as_anchor() -> None:
    blocks = render("(usage)=\n# Usage\n\n## More\n\n## More\n").blocks
    assert [block.anchor for block in blocks] == ["id1", "more", "id2"]


def test_names_in_double_braces_show_their_substitution() -> None:
    context = make_context(substitutions={"key": "*given* words"})
    page = draft_myst("Some {{ key }}, {{ other }}.", HERE / "a.md", "a.md", context)
    assert page.render(UNRESOLVED).text == "Some given words, {{ other }}."


def test_toctrees_and_technical_directives_are_hidden() -> None:
    hidden = "```{toctree}\n:caption: More\n\na\nb\n```\n\n```{raw} html\n<b>x</b>\n```\n\n```{bibliography}\n```\n\n"
    page = draft(hidden + "Text")
    assert page.render(UNRESOLVED).text == "Text"
    assert [(toctree.caption, toctree.entries) for toctree in page.toctrees] == [("More", (("", "a"), ("", "b")))]


def test_included_text_is_where_its_directive_is(tmp_path: Path) -> None:
    (tmp_path / "part.md").write_text("Taken {kbd}`words`.\n\n```{include} deep.md\n```\n")
    (tmp_path / "deep.md").write_text("Deeper.")
    (tmp_path / "code.py").write_text("a = 1\nb = 2\n")
    source = "Own.\n\n```{include} part.md\n```\n\n```{literalinclude} code.py\n:lines: 2\n```\n\n"
    source += "```{eval-rst}\n.. note:: Of *other* kind\n```\n\nEnd.\n"
    assert visible(source, tmp_path) == "Own.\n\nTaken words.\n\nDeeper.\n\nb = 2\n\nnote\n\nOf other kind\n\nEnd."
    assert [notice.lost for notice in draft("```{include} ../no.md\n```", tmp_path).notices] == [True]


def test_a_page_loads_included_files_once(tmp_path: Path) -> None:
    (tmp_path / "code.py").write_text("taken = 1\n")
    context = make_context(tmp_path)
    source = "See {doc}`guide`.\n\n" + "```{literalinclude} code.py\n```\n\n" * 600
    page = draft_myst(source, tmp_path / "page.md", "page.md", context)
    one, other = (page.render(FixedReferences({"*": title})).text for title in ("One", "Other"))
    assert (one[:8], one.count("taken")) == ("See One.", 600)
    assert (other[:10], other.count("taken")) == ("See Other.", 600)
    assert (page.notices, context.includes.take_notices("page.md")) == ((), [])


def test_a_notice_names_every_missing_file(tmp_path: Path) -> None:
    source = "```{include} gone.md\n```\n\n```{eval-rst}\n.. include:: away.rst\n```\n"
    messages = " ".join(notice.message for notice in draft(source, tmp_path).notices if notice.lost)
    assert "gone.md" in messages
    assert "away.rst" in messages


def test_directives_that_are_nested_too_deeply_are_shown_as_written() -> None:
    deep = ":::{note}\n" * 60
    text = visible(f"{deep}Inner words.\n\n```\ncode = 1\n```\n\nLast words.")
    assert all(words in text for words in ("Inner words.", "code = 1", "Last words."))
    assert text.count(":::{note}") == 10


def test_a_label_belongs_to_the_heading_after_it() -> None:
    page = draft("(One Label)=\n# First\n\nText\n\n(two)=\n(three)=\n## Second `code`\n\n(last)=\nText")
    assert page.labels == {"one label": "First", "two": "Second code", "three": "Second code"}
    assert page.title == "First"


# A heading, its anchor in Sphinx, and its anchor in the tools of MyST.
ANCHORS = [
    ("The Guide", "the-guide", "the-guide"),
    ("Usage", "usage", "usage"),
    ("Usage", "id1", "usage-1"),
    ("Usage", "id2", "usage-2"),
    ("C++ & more", "c-more", "c-more"),
    ("1. First steps", "first-steps", "id-1-first-steps"),
    ("Étude", "etude", "id-tude"),
    ("What's new?", "what-s-new", "whats-new"),
    ("`code` first", "code-first", "code-first"),
    ("snake_case name", "snake-case-name", "snake-case-name"),
    ("v2.0 *released*", "v2-0-released", "v2-0-released"),
    ("A [link](https://x.y) here", "a-link-here", "a-link-here"),
]


@pytest.mark.parametrize("at", [1, 2])
def test_anchors_are_those_of_the_tools_that_build_the_page(at: int) -> None:
    source = "".join(f"## {heading[0]}\n\nWords.\n\n" for heading in ANCHORS)
    page = draft_myst(source, HERE / "a.md", "a.md", make_context(), uses_mystmd=at == 2)
    blocks = page.render(UNRESOLVED).blocks
    assert [block.anchor for block in blocks if block.kind == "heading"] == [heading[at] for heading in ANCHORS]


_PIECES = st.sampled_from(
    (
        *("```{note}\n", "```{code-block} x\n", ":::{tip} T\n", "```\n", ":::\n", "::::{a}\n", ":name: x\n", "---\n"),
        *("{ref}`x`", "{kbd}`a b`", "`c`", "``", "`", "(l)=\n", "# H\n", "%x\n", "+++\n", "[](x.md)", "\n", "  "),
        *("> ", "- ", "é", "$$\n", "```{toctree}\n", "```{math}\n", "```{eval-rst}\n", "```{include} x\n", "{{ x }}"),
        *("word ", "\t", "<b>", "1. ", "&amp;", "|-|-|\n", "|", "\\", "*", "```{list-table} T\n", "* - a\n"),
        *("  - b\n", "```{csv-table}\n", "a, b\n", "```{figure} x\n", "$$ (e)\n", "```{versionadded} 1 x\n"),
        *("{#a}\n", "^^^\n", ":caption: c\n", "===\n"),
    )
)


@given(st.one_of(st.text(), st.lists(_PIECES, max_size=30).map("".join)))
@settings(max_examples=300)
def test_any_text_is_rendered_with_exact_positions(faults: Callable[[Page], list[str]], source: str) -> None:
    rendered = draft(source).render(FixedReferences({"*": "T `x`"}, number="1.2. "))
    assert faults(Page("a.md", "/", "", "", 0, source, *rendered)) == []
