"""Settings with characters that no file can hold."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bookbound.sources import parse_book
from bookbound.sources.safe_config import parse_json, parse_yaml, sanitize

Site = Callable[[dict[str, str]], Path]
# Half a character, as YAML, JSON, Python and JavaScript write it.
HALF = r'"A\ud800"'
LISTS = ".. toctree::\n   :caption: Part\n\n   a\n"
BOOKS = {
    "mkdocs": {"mkdocs.yml": f"site_name: {HALF}\nnav: [{{{HALF}: a.md}}]", "docs/a.md": "words"},
    "jupyter": {
        "_toc.yml": f"root: a\nparts: [{{caption: {HALF}, chapters: [{{file: b, title: {HALF}}}]}}]",
        "_config.yml": f"title: {HALF}",
        "a.md": "words",
        "b.md": "words",
    },
    "myst": {"myst.yml": f"project: {{title: {HALF}, toc: [{{file: a.md, title: {HALF}}}]}}", "a.md": "words"},
    "sphinx": {
        "conf.py": f'project = {HALF}\nrst_prolog = {HALF}\nextlinks = {{"x": ("u%s", {HALF})}}',
        "index.rst": f"I\n=\n\n{LISTS}",
        "a.rst": "A\n=\n\nSee :x:`1`.",
    },
    "docusaurus": {
        "docusaurus.config.js": f"module.exports = {{title: {HALF}}}",
        "sidebars.json": f'{{"main": [{{"type": "doc", "id": "a", "label": {HALF}}}]}}',
        "docs/a.md": "words",
        "docs/b/_category_.json": f'{{"label": {HALF}}}',
        "docs/b/c.md": "words",
    },
    "hugo": {
        "hugo.json": f'{{"title": {HALF}, "params": {{"p": {HALF}}}}}',
        "content/a.md": f'{{"title": {HALF}, "own": {HALF}}}\nV {{{{< param own >}}}} {{{{< param p >}}}}.',
    },
}


@pytest.mark.parametrize("files", BOOKS.values(), ids=BOOKS)
def test_half_a_character_in_the_settings_sinks_no_book(site: Site, files: dict[str, str]) -> None:
    book = parse_book(site(files))
    assert book.title.strip("_") == "A\ufffd"
    for page in book.pages:
        "".join((page.file, page.url, page.title, page.chapter, page.text)).encode()


def test_a_key_that_cannot_be_one_sinks_no_book(site: Site) -> None:
    book = parse_book(site({"mkdocs.yml": "site_name: S\n? !foo [a]\n: 1\n", "docs/a.md": "words"}))
    assert [page.text for page in book.pages] == ["words"]
    assert [(notice.file, notice.lost) for notice in book.notices] == [("mkdocs.yml", False)]


halves = st.text(st.characters(exclude_categories=()), max_size=5)
values = st.recursive(halves, lambda inner: st.lists(inner) | st.dictionaries(halves, inner) | st.tuples(inner, inner))


@given(values)
def test_a_sound_value_can_be_written_down_and_stays_as_it_is(value: object) -> None:
    made = sanitize(value)
    repr(made).encode()
    assert "\0" not in str(made)
    assert sanitize(made) == made


def test_two_halves_are_one_character() -> None:
    assert parse_json(r'["\ud83d\ude00", "\ud83d", "\u0000"]') == ["😀", "\ufffd", "\ufffd"]
    assert parse_yaml(r'{"\ud83d": "\0"}') == {"\ufffd": "\ufffd"}
