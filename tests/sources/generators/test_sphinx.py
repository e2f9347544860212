"""Order, chapters, URLs and anchors as Sphinx makes them."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bookbound.domain.document import Page, ParsedBook
from bookbound.sources import parse_book
from bookbound.sources.generators.sphinx.page_order import compile_glob
from bookbound.sources.generators.sphinx.project import SphinxConfig, load_sphinx_config
from bookbound.sources.rst.page_draft import MarkupConfig

Site = Callable[[dict[str, str]], Path]

CONF = '''
import os, sys
raise SystemExit("never run")
project = "The Manual"
release = "2.1.3"
version = release
extensions = ["sphinx.ext.autodoc"] + ["myst_parser"]
html_baseurl: str = "https://manual.example/en/"
exclude_patterns = ["_build", "drafts/**"]
exclude_patterns += ["**/_*.rst"]
rst_prolog = """
.. |tool| replace:: *Hammer*
"""
extlinks = {"issue": ("https://x.y/%s", "issue %s")}
copyright = f"{os.getcwd()}"
'''
INDEX = """
The Manual
==========

Opens with |tool| |release|, :issue:`7`.

.. toctree::
   :caption: First steps

   install
   Quick tour <guide/quick>
   https://elsewhere.example
   self

.. toctree::
   :hidden:
   :caption: In depth

   guide/index
   notes/index.rst
   notes/gone

See :doc:`install`, :ref:`deep label`, :ref:`built-only`, :ref:`nowhere`.
"""
PAGES = {
    "conf.py": CONF,
    "index.rst": INDEX,
    "install.rst": "Installing\n==========\n\nWords.\n",
    "guide/index.md": "# The guide\n\n```{toctree}\n\nquick\ndeep\n```\n\nSee {doc}`deep` and {ref}`deep label`.\n",
    "guide/quick.rst": "Quick\n=====\n\nWords.\n",
    "guide/deep.rst": "Deep\n====\n\n.. _Deep  Label:\n\nDeeper still\n------------\n\nBack to :doc:`/install`.\n",
    "guide/_part.rst": "Never a page.\n",
    "notes/index.rst": "Notes\n=====\n\n.. toctree::\n   :glob:\n   :reversed:\n\n   2*\n",
    "notes/2023.rst": "Of 2023\n=======\n\n.. include:: ../guide/_part.rst\n",
    "notes/2024.rst": "Of 2024\n=======\n\nWords.\n",
    "alone.rst": ":orphan:\n\nAlone\n=====\n\nWords.\n",
    "lost.rst": "Lost\n====\n\nWords.\n",
    "README.md": "# Of the repository\n",
    "drafts/one.rst": "Draft\n=====\n",
    "_static/two.rst": "Not seen",
}


def book(site: Site, pages: dict[str, str] = PAGES, **more: str) -> ParsedBook:
    return parse_book(site(pages | more))


def test_toctrees_give_the_order_and_the_chapters_of_pages(site: Site) -> None:
    found = book(site)
    assert (found.title, found.kind) == ("The Manual", "sphinx")
    assert [(page.url.removeprefix("https://manual.example/en"), page.title, page.chapter) for page in found.pages] == [
        ("/index.html", "The Manual", "The Manual"),
        ("/install.html", "Installing", "First steps"),
        ("/guide/quick.html", "Quick", "First steps"),
        ("/guide/index.html", "The guide", "The guide"),
        ("/guide/deep.html", "Deep", "The guide"),
        ("/notes/index.html", "Notes", "Notes"),
        ("/notes/2024.html", "Of 2024", "Notes"),
        ("/notes/2023.html", "Of 2023", "Notes"),
        ("/alone.html", "Alone", "Alone"),
        ("/lost.html", "Lost", "Lost"),
        ("/README.html", "Of the repository", "Of the repository"),
    ]


def test_notices_name_unlisted_and_missing_pages(site: Site) -> None:
    assert [notice for notice in book(site).notices if notice.file == "index.rst"] == [
        ("index.rst", "2 pages are in no toctree: lost, README", False),
        ("index.rst", "lists pages that do not exist: notes/gone", True),
    ]


def test_references_show_the_titles_of_their_targets(site: Site) -> None:
    lines = b"built-only std:label -1 x.html#built-only Built, not written\n"
    inventory = b"# Sphinx inventory version 2\n# Project: M\n# Version: 1\n# zlib\n" + zlib.compress(lines)
    root = site(PAGES)
    (root / "_build" / "html").mkdir(parents=True)
    (root / "_build" / "html" / "objects.inv").write_bytes(inventory)
    pages = {page.file: page for page in parse_book(root).pages}
    assert pages["index.rst"].text.split("\n\n")[1:] == [
        "Opens with Hammer 2.1.3, issue 7.",
        "See Installing, Deeper still, Built, not written, nowhere.",
    ]
    assert pages["guide/index.md"].text.endswith("See Deep and Deeper still.")
    assert pages["guide/deep.rst"].text.endswith("Back to Installing.")
    assert pages["notes/2023.rst"].text.endswith("Never a page.")


# Each heading and the anchor of its permalink: lower case, a hyphen for everything but ASCII letters and digits, no
# hyphens at the ends, no digits at the start. Repeated and empty anchors are numbered. An explicit target comes after
# the heading's own id, unless that begins with `id`.
ANCHORS = [
    ("The Guide", "the-guide"),
    (".. _get-it:\n\nInstallation", "installation"),
    (".. _usage:\n\nUsage", "usage"),  # the target has this id, so the heading's own is id1 and comes after it
    ("Usage", "id2"),
    ("C++ & more", "c-more"),
    ("1. First steps", "first-steps"),
    ("Étude", "etude"),
    ("Straße", "strasze"),
    ("Ærø", "aero"),
    ("日本", "id3"),
    ("What's new?", "what-s-new"),
    ("``code`` first", "code-first"),
    ("snake_case name", "snake-case-name"),
    ("v2.0 released", "v2-0-released"),
    ("100% sure", "sure"),
    ("A `link <https://x.y>`_ here", "a-link-here"),
    (":doc:`Titled <other>` role", "titled-role"),
    ("**Strong** / *weak*", "strong-weak"),
    (".. _first:\n.. _second:\n\nUsage", "second"),  # its own id is id4
    ("Trailing dash -", "trailing-dash"),
    ("UPPER   Case", "upper-case"),
    ("...", "id5"),
    (".. _plan:\n\nIdeas", "plan"),  # Sphinx mistakes its own id for a numbered one
]


def test_headings_have_the_anchors_of_docutils(site: Site) -> None:
    source = "".join(f"{heading}\n{'=' * 60}\n\nWords.\n\n" for heading, _ in ANCHORS)
    (page,) = book(site, {"conf.py": "", "index.rst": source}).pages
    found = [block.anchor for block in page.blocks if block.kind == "heading"]
    assert found == [anchor for _, anchor in ANCHORS]


def test_an_index_with_a_toctree_needs_no_configuration(site: Site) -> None:
    root = site(
        {"source/index.rst": "Title\n=====\n\n.. toctree::\n\n   a\n", "source/a.rst": "A\n=\n", "README.md": "x"}
    )
    found = parse_book(root)
    assert (found.kind, found.title, [page.url for page in found.pages]) == (
        "sphinx",
        "Title",
        ["/index.html", "/a.html"],
    )


def test_the_suffix_of_the_index_is_the_suffix_of_all_pages(site: Site) -> None:
    pages = {"index_main.rst": "T\n=\n\n.. toctree::\n\n   a\n", "a_main.rst": "A\n=\n", "b.rst": "Not a page"}
    assert [(page.file, page.url) for page in parse_book(site(pages)).pages] == [
        ("index_main.rst", "/index.html"),
        ("a_main.rst", "/a.html"),
    ]


def test_without_a_root_page_each_toctree_is_a_chapter(site: Site) -> None:
    found = parse_book(
        site(
            {
                "docs/b/index.rst": "Of B\n====\n\n.. toctree::\n\n   y\n   x\n",
                "docs/b/x.rst": "X\n=\n",
                "docs/b/y.rst": "Y\n=\n",
                "docs/a/alone.rst": "Alone\n=====\n",
                "docs/a/index.rst": "Of A\n====\n\n.. toctree::\n\n   z\n",
                "docs/a/z.rst": "Z\n=\n",
            }
        )
    )
    assert [(page.url, page.chapter) for page in found.pages] == [
        ("/a/index.html", "Of A"),
        ("/a/z.html", "Of A"),
        ("/a/alone.html", "Of A"),
        ("/b/index.html", "Of B"),
        ("/b/y.html", "Of B"),
        ("/b/x.html", "Of B"),
    ]


def test_circular_toctrees_are_read_once(site: Site) -> None:
    pages = {
        "conf.py": "",
        "index.rst": "I\n=\n\n.. toctree::\n\n   a\n",
        "a.rst": "A\n=\n\n.. toctree::\n\n   index\n   a\n",
    }
    assert [page.url for page in parse_book(site(pages)).pages] == ["/index.html", "/a.html"]


def test_an_unreadable_page_gets_a_notice_and_the_others_are_read(site: Site) -> None:
    root = site(PAGES)
    (root / "guide" / "deep.rst").write_bytes(b"\0\1")
    found = parse_book(root)
    assert any(notice.file == "guide/deep.rst" and notice.lost for notice in found.notices)
    assert len(found.pages) == 10


def test_a_configuration_is_parsed_but_not_run(tmp_path: Path) -> None:
    (tmp_path / "conf.py").write_text(CONF)
    config, notices = load_sphinx_config(tmp_path / "conf.py")
    assert notices == []
    assert config == SphinxConfig(
        title="The Manual",
        url="https://manual.example/en/",
        suffixes=(".rst", ".md"),
        excluded=("_templates", "_static", "_build", "drafts/**", "**/_*.rst"),
        markup=MarkupConfig(
            prolog="\n.. |tool| replace:: *Hammer*\n",
            show_todos=False,
            release_names={"version": "2.1.3", "release": "2.1.3"},
            link_captions={"issue": "issue %s"},
        ),
    )
    (tmp_path / "conf.py").write_text("project = (((")
    config, notices = load_sphinx_config(tmp_path / "conf.py")
    assert config == SphinxConfig()
    assert [notice.file for notice in notices] == ["conf.py"]


def test_a_configuration_cannot_exhaust_the_memory(tmp_path: Path) -> None:
    (tmp_path / "conf.py").write_text("project = 'ab'\n" + "project += project\n" * 5_000)
    config, _ = load_sphinx_config(tmp_path / "conf.py")
    assert 0 < len(config.title) < 1_000_000


@given(st.one_of(st.text(), st.text("=(){}[]'\"\n,+ :abc1", max_size=60)))
def test_any_configuration_is_accepted(tmp_path_factory: pytest.TempPathFactory, source: str) -> None:
    path = tmp_path_factory.getbasetemp() / "conf.py"
    path.write_text(source, encoding="utf-8", errors="replace")
    load_sphinx_config(path)


@pytest.mark.parametrize(
    ("glob", "name", "matches"),
    [
        ("a*", "abc", True),
        ("a*", "a/b", False),
        ("**/_*.rst", "a/b/_c.rst", True),
        ("**/_*.rst", "_c.rst", True),
        ("drafts/**", "drafts/a/b.rst", True),
        ("v[12].?", "v1.x", True),
        ("v[!12].?", "v1.x", False),
        ("*" * 40 + "x", "y" * 40, False),
    ],
)
def test_glob_patterns_match_as_in_sphinx(glob: str, name: str, matches: bool) -> None:
    assert bool(compile_glob(glob).fullmatch(name)) is matches


@given(st.text(), st.text("a*?[]!/", max_size=12))
def test_any_glob_pattern_is_accepted(name: str, glob: str) -> None:
    compile_glob(glob).fullmatch(name)


def test_every_word_has_an_exact_position(site: Site, faults: Callable[[Page], list[str]]) -> None:
    assert [fault for page in book(site).pages for fault in faults(page)] == []
