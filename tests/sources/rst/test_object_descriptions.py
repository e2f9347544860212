"""Documented objects as Sphinx shows them and the anchors that it gives them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.sources.rst.helpers import draft_rst_page

from bookbound.domain.document import Block
from bookbound.sources.page_builder import RenderedPage
from bookbound.sources.rst.object_descriptions import (
    ObjectScope,
    contains_members,
    describe_object,
    make_object_id,
    qualify_object_kind,
)
from bookbound.sources.rst.page_draft import UNRESOLVED


def render(source: str) -> RenderedPage:
    return draft_rst_page(source).render(UNRESOLVED)


def find_definitions(source: str) -> list[tuple[str, str]]:
    """Return the anchor and the first line of each object on a page."""
    text, _, blocks, _ = render(source)

    def walk(blocks: Iterable[Block]) -> Iterator[tuple[str, str]]:
        for block in blocks:
            if block.kind == "definition":
                yield block.anchor, text[block.start : block.end].split("\n")[0]
            yield from walk(block.children)

    return list(walk(blocks))


# The expected anchors below were copied by hand from a build with Sphinx 9.
PYTHON = """
.. py:module:: pkg.mod

.. py:function:: f(a, b=1, *args, **kw) -> int
   :async:

   Does f.

.. py:function:: pkg.mod.g(a)

.. py:class:: Kls(x)

   A class.

   .. py:method:: meth(y)
      :classmethod:

   .. py:attribute:: attr
      :type: int
      :value: 3

   .. py:property:: prop
      :type: str

.. py:data:: DATA
   :value: 7

.. py:exception:: Bad

.. py:decorator:: deco

.. py:method:: Kls.late()
   :staticmethod:

.. py:function:: unlisted()
   :no-index:

.. py:currentmodule:: another

.. function:: h

.. py:type:: Alias
   :canonical: int
"""
OTHERS = """
.. c:function:: int c_fun(int a, char *b)

.. c:macro:: MAX_LEN

.. c:type:: my_t

.. c:struct:: Strct

   .. c:member:: int field

.. c:enum:: Enm

   .. c:enumerator:: VAL

.. c:var:: int variable[3]

.. cpp:class:: ns::Klass

.. cpp:enum-class:: Ecl

.. cpp:function:: int ns::fun(int a)

.. js:function:: mod.jsf(a, b)

.. js:class:: Jk(a)

   .. js:method:: jm(b)

.. js:module:: jmod

.. js:attribute:: jattr

.. rst:directive:: foo

   .. rst:directive:option:: opt
      :type: int

.. rst:directive:: .. bar:: baz

.. rst:role:: rolx

.. program:: prog

.. option:: -v, --verbose <level>

.. option:: dest_dir

.. program:: None

.. option:: -x=5

.. envvar:: MY_VAR

.. confval:: my_setting

.. describe:: PAPER

   Described.
"""


def test_python_objects_show_their_module_and_have_their_full_name_as_anchor() -> None:
    assert find_definitions(PYTHON) == [
        ("pkg.mod.f", "async pkg.mod.f(a, b=1, *args, **kw) -> int"),
        ("pkg.mod.pkg.mod.g", "pkg.mod.g(a)"),  # Sphinx does not recognise the current module
        ("pkg.mod.Kls", "class pkg.mod.Kls(x)"),
        ("pkg.mod.Kls.meth", "classmethod meth(y)"),
        ("pkg.mod.Kls.attr", "attr: int = 3"),
        ("pkg.mod.Kls.prop", "property prop: str"),
        ("pkg.mod.DATA", "pkg.mod.DATA = 7"),
        ("pkg.mod.Bad", "exception pkg.mod.Bad"),
        ("pkg.mod.deco", "@pkg.mod.deco"),
        ("pkg.mod.Kls.late", "static Kls.late()"),
        ("", "pkg.mod.unlisted()"),
        ("another.h", "another.h()"),
        ("another.Alias", "type another.Alias = int"),
    ]


def test_objects_of_other_domains_have_the_anchors_of_their_domain() -> None:
    assert find_definitions(OTHERS) == [
        ("c.c_fun", "int c_fun(int a, char *b)"),
        ("c.MAX_LEN", "MAX_LEN"),
        ("c.my_t", "type my_t"),
        ("c.Strct", "struct Strct"),
        ("c.Strct.field", "int field"),
        ("c.Enm", "enum Enm"),
        ("c.Enm.VAL", "enumerator VAL"),
        ("c.variable", "int variable[3]"),
        ("_CPPv4N2ns5KlassE", "class ns::Klass"),
        ("_CPPv43Ecl", "enum class Ecl"),
        ("", "int ns::fun(int a)"),
        ("mod.jsf", "mod.jsf(a, b)"),
        ("Jk", "class Jk(a)"),
        ("Jk.jm", "Jk.jm(b)"),
        ("jmod.jattr", "jmod.jattr"),
        ("directive-foo", ".. foo::"),
        ("directive-option-foo-opt", ":opt: (int)"),
        ("directive-bar", ".. bar:: baz"),
        ("role-rolx", ":rolx:"),
        ("cmdoption-prog-v", "-v, --verbose <level>"),
        ("cmdoption-prog-arg-dest_dir", "dest_dir"),
        ("cmdoption-x", "-x=5"),
        ("envvar-MY_VAR", "MY_VAR"),
        ("confval-my_setting", "my_setting"),
        ("", "PAPER"),
    ]


def test_glossary_terms_have_anchors_and_may_share_a_definition() -> None:
    source = ".. glossary::\n\n   node\n   vertex\n      A point.\n\n   .. comment\n\n"
    source += "   Edge Word : e\n      A *line*.\n\n   émile\n      Accent.\n"
    text, _, blocks, _ = render(source)
    assert text == "node\n\nvertex\n\nA point.\n\nEdge Word\n\nA line.\n\némile\n\nAccent."
    assert [(block.kind, block.anchor) for block in blocks] == [
        ("definition", "term-node"),
        ("definition", "term-Edge-Word"),
        ("definition", "term-emile"),
    ]
    assert [child.anchor for child in blocks[0].children] == ["term-node", "term-vertex", ""]


def test_a_glossary_term_may_have_no_definition() -> None:
    assert render(".. glossary::\n\n   one\n\n   two\n\n      Meaning.\n\n   three\n").text == (
        "one\n\ntwo\n\nMeaning.\n\nthree"
    )


def test_a_section_that_begins_with_a_module_has_its_anchor() -> None:
    source = "Tools\n=====\n\n.. module:: os.path\n\nWords.\n\nMore\n====\n\nWords.\n\n.. module:: late\n"
    _, _, blocks, _ = render(source)
    assert [block.anchor for block in blocks if block.kind == "heading"] == ["module-os.path", "more"]


def test_an_object_that_is_documented_twice_has_one_anchor() -> None:
    assert [anchor for anchor, _ in find_definitions(".. py:data:: a\n\n.. py:data:: a\n")] == ["a", ""]


def test_several_signatures_are_one_object() -> None:
    text, _, blocks, _ = render(".. py:function:: one(a)\n                 two(b)\n\n   Both.\n")
    assert text == "one(a)\n\ntwo(b)\n\nBoth."
    assert [(child.kind, child.anchor) for child in blocks[0].children] == [
        ("code", ""),
        ("code", "two"),
        ("paragraph", ""),
    ]


def test_fields_show_the_labels_of_sphinx() -> None:
    source = ".. py:function:: f(a, b)\n\n   :param a: the a\n   :type a: int\n   :param str b: the b\n"
    source += "   :returns: what\n   :rtype: int\n   :raises ValueError: when bad\n   :meta private:\n"
    assert render(source).text.split("\n\n")[1:] == [
        "Parameters: a (int) – the a",
        "b (str) – the b",
        "Returns: what",
        "Return type: int",
        "Raises: ValueError – when bad",
    ]
    assert render(".. js:function:: f(a)\n\n   :param a: the a\n").text == "f(a)\n\nArguments: a – the a"


@pytest.mark.parametrize(
    ("name", "anchor"),
    [("pkg.f", "pkg.f"), ("a b/c", "a-b-c"), ("--long-one", "long-one"), ("Été_1.", "Ete_1."), ("9", ""), ("ø", "o")],
)
def test_object_anchors_keep_letters_dots_and_underscores(name: str, anchor: str) -> None:
    assert make_object_id(name) == anchor


KINDS = "py:class py:method js:class js:data c:function c:enum cpp:class cpp:function rst:directive"


@given(
    st.sampled_from((*KINDS.split(), "rst:directive:option", "rst:role", "option", "envvar", "x:y")),
    st.text(max_size=60),
)
def test_any_signature_gives_a_valid_anchor_or_none(kind: str, text: str) -> None:
    scope = ObjectScope(parents=[("py", "A"), ("cpp", "n::B"), ("rst", "d")])
    found = describe_object(qualify_object_kind(kind, scope), text, {"type": text}, scope)
    assert all(anchor and " " not in anchor for anchor in found.ids)
    assert isinstance(contains_members(kind), bool)
