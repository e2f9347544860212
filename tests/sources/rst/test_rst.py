"""reStructuredText as a reader of the built page sees it, with the position of each word."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.sources.rst.helpers import HERE, FixedReferences, draft_rst_page
from tests.sources.shapes import Shape, shape_of

from bookbound.domain.document import Page
from bookbound.sources.page_builder import RenderedPage
from bookbound.sources.rst.page_draft import UNRESOLVED

REFERENCES = FixedReferences({"there": "The Title"})


def render(source: str, folder: Path = HERE) -> RenderedPage:
    return draft_rst_page(source, folder).render(REFERENCES)


def visible(source: str) -> str:
    return render(source).text


def shape(source: str) -> Shape:
    return shape_of(render(source))


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("A ``literal *x*`` and **strong** *word*.", "A literal *x* and strong word."),
        ("See `the guide <https://x.y/z>`__ or `here\n<https://x.y>`_.", "See the guide or here."),
        ("`a <https://x.y>`_ and `b <https://x.y>`_ end.", "a and b end."),
        (":doc:`Title <../a/b>` and :ref:`label`", "Title and label"),
        (":ref:`there` and :doc:`Other <there>`", "The Title and Other"),
        (":class:`~pkg.mod.Thing` and :math:`a_{<}`", "Thing and a_{<}"),
        (":func:`~pkg.run`, :py:meth:`!go` and :func:`it()`", "run(), go() and it()"),
        (":menuselection:`File --> &Save` and :guilabel:`&Cancel`", "File \u2023 Save and Cancel"),
        (":kbd:`Ctrl-C`, :file:`/etc/{name}`, :abbr:`LIFO (last-in, first-out)`", "Ctrl-C, /etc/name, LIFO"),
        (":download:`the data <a.csv>`, :term:`node`, :pep:`8`", "the data, node, PEP 8"),
        (":icon:`fa-x` Linux", "Linux"),
        (":cve:`2020-1`, :cwe:`787`, :index:`a word`, :index:`b <pair: c; d>`", "CVE 2020-1, CWE 787, a word, b"),
        (":unheard-of:`its text`", "its text"),
        ("A Name_ and `two words`_ [1]_ here [Key]_\n\n.. [1] Note\n.. [Key] Book", "A Name and two words here [Key]"),
        ("https://x.y/a_b/c stays, snake_case too", "https://x.y/a_b/c stays, snake_case too"),
        ("re\\ ``st``\\ ructured \\*star \\\\ end", "restructured *star \\ end"),
        ("2 * 3 * 4 and a*b*c", "2 * 3 * 4 and a*b*c"),
        ("|x| is\n\n.. |x| replace:: **bold** text", "bold text is"),
        ("|a| is\n\n.. |a| replace:: one |b|\n.. |b| replace:: two", "one two is"),
        ("A |p| here, |not| there\n\n.. |p| image:: x.png", "A here, |not| there"),
        ("—**not** this", "—not this"),
    ],
)
def test_inline_markup_is_hidden_and_its_text_is_shown(source: str, text: str) -> None:
    assert visible(source).split("\n")[0] == text


def test_the_order_of_underline_styles_gives_the_heading_levels() -> None:
    source = "=====\nTitle\n=====\n\nOne\n===\n\nTwo\n---\n\nThree\n=====\n\nTwo\n---\n"
    text, _, blocks, _ = render(source)
    assert [(text[b.start : b.end], b.level, b.anchor) for b in blocks] == [
        ("Title", 1, "title"),
        ("One", 2, "one"),
        ("Two", 3, "two"),
        ("Three", 2, "three"),
        ("Two", 3, "id1"),
    ]


def test_a_transition_line_is_not_a_heading() -> None:
    assert shape("Above\n\n-----\n\nBelow") == [("paragraph", "Above"), ("paragraph", "Below")]


def test_code_follows_two_colons_or_a_directive() -> None:
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
    assert shape(".. math:: a = b\n   :label: eq\n\n.. math::\n\n   c &= d \\\\\n     &= e") == [
        ("formula", "a = b"),
        ("formula", "c &= d \\\\\n  &= e"),
    ]
    assert shape(">>> 1 + 1\n2") == [("code", ">>> 1 + 1\n2")]
    assert shape(".. code-tab:: py The tab\n\n   x = 1") == [("paragraph", "The tab"), ("code", "x = 1")]


def test_comments_targets_and_technical_directives_are_hidden() -> None:
    hidden = ":orphan:\n\n.. a comment\n   goes on\n\n.. _label:\n\n.. _a: https://x.y\n\n__ https://x.y\n\n"
    hidden += (
        ".. toctree::\n   :maxdepth: 2\n\n   a\n   b\n\n.. contents:: Contents\n\n.. image:: x.png\n   :width: 3\n\n"
    )
    hidden += "..\n   also a comment\n\n.. include:: x.rst\n\n.. highlight:: python\n\n.. raw:: latex\n\n   raw\n\n"
    hidden += (
        ".. only:: latex and not html\n\n   For print\n\n.. index:: single: word\n\n.. automodule:: os\n   :members:\n"
    )
    assert visible(hidden + "\nText") == "Text"


def test_directives_show_their_titles_and_bodies() -> None:
    assert shape(".. note:: Mind\n   the gap\n\n   Twice") == [
        ("admonition", [("paragraph", "note"), ("paragraph", "Mind the gap"), ("paragraph", "Twice")])
    ]
    assert shape(".. admonition:: Title\n   :class: x\n\n   Body") == [
        ("admonition", [("paragraph", "Title"), ("paragraph", "Body")])
    ]
    assert shape(".. versionadded:: 2.1 It *spans*.\n\n   And more.") == [
        ("admonition", [("paragraph", "Added in version 2.1:"), ("paragraph", "It spans."), ("paragraph", "And more.")])
    ]
    assert visible(".. tabs::\n\n   .. group-tab:: Linux\n\n      .. code-block:: sh\n\n         ls") == "Linux\n\nls"
    assert visible(".. tab-set::\n\n   .. tab-item:: One\n      :sync: 1\n\n      Body") == "One\n\nBody"
    assert visible(".. figure:: a.png\n   :alt: A hand\n\n   The caption\n\n   The legend") == (
        "The caption\n\nThe legend"
    )
    assert visible(".. unheard-of:: argument\n   :option: x\n\n   Its body.") == "Its body."
    assert visible(".. only:: html or latex\n\n   Shown") == "Shown"
    assert visible(".. [1] A footnote\n   goes on") == "A footnote goes on"
    assert visible(".. rubric:: A *small* title\n\nText") == "A small title\n\nText"


def test_directives_show_the_words_that_sphinx_adds() -> None:
    assert visible(".. seealso:: Other *pages*.") == "See also\n\nOther pages."
    assert visible(".. versionadded:: 2.1\n   Words *here*.") == "Added in version 2.1:\n\nWords here."
    assert visible(".. deprecated:: 3.0\n\nText") == "Deprecated since version 3.0.\n\nText"
    assert visible(".. sidebar:: Title\n   :subtitle: Below it\n\n   Body.") == "Title\n\nBelow it\n\nBody."
    assert visible(".. raw:: html\n\n   <p>Words <b>as\n   HTML</b></p><script>x</script>\n\nText") == (
        "Words as HTML\n\nText"
    )
    assert visible(".. card:: Title\n\n   Head\n   ^^^\n   Body\n   +++\n   Foot\n") == "Title\n\nHead\n\nBody\n\nFoot"
    assert visible(".. button-ref:: there\n\n.. button-link:: https://x.y\n\n   Words") == "The Title\n\nWords"
    assert visible(".. tab-set-code::\n\n   .. code-block:: python\n\n      a = 5\n") == "PYTHON\n\na = 5"
    assert visible(".. productionlist:: group\n   expr: `term`\n   term: NUMBER\n") == "expr: `term`\nterm: NUMBER"
    assert visible("At |now| o'clock\n\n.. |now| date::") == "At o'clock"
    assert visible(".. confval:: name\n   :type: int\n   :default: ``5``\n\n   Words.") == (
        "name\n\nType: int\n\nDefault: 5\n\nWords."
    )


def test_todos_are_shown_if_the_configuration_says_so() -> None:
    def render_todo(show_todos: bool) -> str:
        draft = draft_rst_page("Text [1]_\n\n.. todo:: This\n\nDup\n===\n\nDup\n===", show_todos=show_todos)
        text, _, blocks, _ = draft.render(UNRESOLVED)
        assert blocks[-1].anchor == "id3"  # Sphinx counts an id for the todo in any case
        return text

    assert render_todo(True).startswith("Text\n\ntodo\n\nThis")
    assert render_todo(False).startswith("Text\n\nDup")


def test_labels_and_names_are_the_anchors_of_blocks() -> None:
    source = ".. _para:\n\nWords.\n\n.. note::\n   :name: minded\n\n   Mind.\n\n"
    source += ".. code-block:: x\n   :name: coded\n\n   a\n"
    assert [block.anchor for block in render(source).blocks] == ["para", "minded", "coded"]


def test_a_notice_says_that_autodoc_text_is_missing() -> None:
    source = ".. automodule:: a.b\n   :members:\n\n.. autoclass:: C\n\n   Said here.\n"
    draft = draft_rst_page(source)
    assert draft.render(UNRESOLVED).text == "Said here."
    assert [notice.message for notice in draft.notices] == ["autodoc text comes from code, which is not read: a.b, C"]


def test_objects_show_their_signature_and_description() -> None:
    source = ".. py:function:: run(x: int = 1) -> None\n   :module: a.b\n\n   Runs.\n\n   :param x: how often\n"
    assert shape(source) == [
        (
            "definition",
            [
                ("code", "a.b.run(x: int = 1) -> None"),
                ("paragraph", "Runs."),
                ("paragraph", "Parameters: x – how often"),
            ],
        )
    ]
    assert visible(".. option:: -v, --verbose\n\n   Says more.") == "-v, --verbose\n\nSays more."
    assert visible(".. class:: centred\n\nText") == "Text"
    assert visible("-a FILE  all of it") == "-a FILE\n\nall of it"


def test_list_items_keep_their_markers_and_nested_ones_are_indented() -> None:
    source = "- one\n  more\n\n  * deep\n\n- two\n\n1. first\n#. second\n"
    assert visible(source) == "- one more\n  * deep\n- two\n\n1. first\n#. second"
    assert shape("* a\n* b") == [("list", [("item", [("paragraph", "a")]), ("item", [("paragraph", "b")])])]


def test_tables_become_rows() -> None:
    grid = "+-----+-----+\n| A   | |b| |\n+=====+=====+\n| one | two |\n+-----+-----+\n\n.. |b| replace:: B"
    assert visible(grid) == "A | B\none | two"
    assert (
        visible("===== ====\nName  Kind\n===== ====\nx     y z\n===== ====\n\nAfter") == "Name | Kind\nx | y z\n\nAfter"
    )
    listed = ".. list-table:: Title\n   :new-option: x\n\n   * - A\n     - B\n   * - c\n       d\n     - ``e``"
    assert visible(listed) == "Title\n\nA | B\nc d | e"
    assert visible('.. csv-table::\n   :header: "A", "B"\n\n   "x, y", 2\n   z, 3') == "A | B\nx, y | 2\nz | 3"


def test_a_table_with_too_many_cells_is_shown_as_code() -> None:
    _, _, blocks, _ = render(".. csv-table::\n\n   " + "a," * 300 + "\n" + "   x\n" * 300)
    assert [block.kind for block in blocks] == ["code"]


def test_a_row_with_interleaved_cell_lines_is_read_cell_by_cell() -> None:
    source = "+-------+-------+\n| one   | two   |\n| more  | three |\n+-------+-------+\n\nAfter two"
    text, spans, _, _ = render(source)
    assert text == "one more | two three\n\nAfter two"
    assert source[spans[0].start : spans[-2].end] == "| one   | two   |\n| more  | three |"
    assert source[spans[-1].start : spans[-1].end] == "After two"


def test_definitions_and_quotes_are_paragraphs() -> None:
    assert shape("Term : kind\n   Its meaning.\n\n   And more.") == [
        ("paragraph", "Term"),
        ("paragraph", "kind"),
        ("paragraph", "Its meaning."),
        ("paragraph", "And more."),
    ]
    assert shape("| one\n| two") == [("paragraph", "one\ntwo")]


def test_included_text_has_the_position_of_its_directive(tmp_path: Path) -> None:
    (tmp_path / "more.rst").write_text("Taken *words*.\n\n.. include:: deep.txt\n")
    (tmp_path / "deep.txt").write_text("Deeper.\n")
    (tmp_path / "code.py").write_text("import a\n\n\ndef run():\n    return 1\n\n\nb = 2\n")
    (tmp_path.parent / "secret.rst").write_text("Not for readers.")
    source = "Own.\n\n.. include:: more.rst\n\n.. literalinclude:: code.py\n   :pyobject: run\n\n"
    source += ".. include:: ../secret.rst\n\nOwn too.\n"
    text, spans, _, _ = render(source, tmp_path)
    assert text == "Own.\n\nTaken words.\n\nDeeper.\n\ndef run():\n    return 1\n\nOwn too."
    directives = {source[span.start : span.end] for span in spans if span.end - span.start != span.length}
    assert directives - {""} == {".. include:: more.rst", ".. literalinclude:: code.py"}
    (notice,) = draft_rst_page(source, tmp_path).notices
    assert "../secret.rst" in notice.message
    assert notice.lost


def test_options_of_included_files_apply(tmp_path: Path) -> None:
    (tmp_path / "code.py").write_text("a = 1\nb = 2\n")
    (tmp_path / "data.csv").write_text('h1,h2\nv1,"v 2"\n')
    source = ".. literalinclude:: code.py\n   :caption:\n   :lines: 2\n   :prepend: first\n   :append: last\n\n"
    source += ".. csv-table:: Of a file\n   :file: data.csv\n   :header-rows: 1\n\nText\n"
    text, spans, _, _ = render(source, tmp_path)
    assert text == "code.py\n\nfirst\nb = 2\nlast\n\nOf a file\n\nh1 | h2\nv1 | v 2\n\nText"
    assert source[spans[-1].start : spans[-1].end] == "Text"


def test_a_page_that_includes_itself_is_read_within_limits(tmp_path: Path) -> None:
    (tmp_path / "page.rst").write_text("Words.\n\n.. include:: page.rst\n")
    text = render((tmp_path / "page.rst").read_text(), tmp_path).text
    assert text.startswith("Words.")
    assert len(text) < 10_000


@pytest.mark.parametrize("source", ["> " * 500 + "x", "- " * 2_000 + "deep", "x" * 20_000])
def test_a_page_that_docutils_cannot_parse_is_plain_text(source: str) -> None:
    assert "".join(visible(source).split()) == "".join(source.split())


def test_text_with_tabs_keeps_its_positions() -> None:
    source = "Words\twith a tab.\n\n.. code-block:: make\n\n\tall:\n\t\techo\tx\n\nAfter."
    text, spans, _, _ = render(source)
    assert text == "Words with a tab.\n\nall:\n\techo\tx\n\nAfter."
    assert source[spans[-1].start : spans[-1].end] == "After."


_PIECES = st.sampled_from(
    (
        *("\n", "\n\n", "\n   ", "   ", "===", "---", "* ", "- ", "1. ", ".. ", "note:: ", "code-block:: x", ":: "),
        *("``", "`", "*", "**", "\\", "_", "__", "[1]_", "[a]_", ":ref:`", ":a: b", "word", "two words"),
        *(".. |x| replace:: y\n", "|x|", "+--+--+", "| a | b |", "|", "== ==", "a b", "\t", "\u2028", "\x0b", "é"),
        *(".. _l:", ".. include:: x", ">>> x", ".. py:class:: A(b)\n\n   ", ".. option:: -a\n", ":param x: y\n"),
        *(".. glossary::\n\n   a\n      b\n", ".. card:: T\n\n   a\n   ^^^\n   b\n", ".. math:: x\n   :label: y\n"),
        *(".. versionadded:: 1 w\n", "   +++\n", ".. raw:: html\n\n   <b>x", ".. seealso:: x", ".. module:: m\n"),
        *(".. productionlist::\n   a: b\n", ".. code-block:: x\n   :caption: c\n\n   d\n", ".. todo:: x\n"),
        *(".. tab-set-code::\n\n   ", ":func:`~a.b`", "-a  b", ".. figure:: x", ".. csv-table::\n\n   "),
        *(".. list-table::\n\n   * - "),
    )
)


@given(st.one_of(st.text(), st.lists(_PIECES, max_size=40).map("".join)))
@settings(max_examples=300)
def test_any_text_is_rendered_with_exact_positions(faults: Callable[[Page], list[str]], source: str) -> None:
    rendered = draft_rst_page(source).render(FixedReferences({"*": "T"}, number="1.2. "))
    assert faults(Page("a.rst", "/", "", "", 0, source, *rendered)) == []
