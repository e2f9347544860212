"""Parses untrusted settings within limits."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bookbound.sources import parse_book
from bookbound.sources.safe_config import load_config, parse_config, parse_toml, parse_yaml, sanitize

Site = Callable[[dict[str, str]], Path]
# A lone surrogate as YAML, JSON, Python and JavaScript write it.
LONE = r'"A\ud800"'
LISTS = ".. toctree::\n   :caption: Part\n\n   a\n"
BOOKS = {
    "mkdocs": {"mkdocs.yml": f"site_name: {LONE}\nnav: [{{{LONE}: a.md}}]", "docs/a.md": "words"},
    "jupyter": {
        "_toc.yml": f"root: a\nparts: [{{caption: {LONE}, chapters: [{{file: b, title: {LONE}}}]}}]",
        "_config.yml": f"title: {LONE}",
        "a.md": "words",
        "b.md": "words",
    },
    "myst": {
        "myst.yml": f"project: {{title: {LONE}, toc: [{{file: a.md, title: {LONE}}}]}}",
        "a.md": "words",
    },
    "sphinx": {
        "conf.py": f'project = {LONE}\nrst_prolog = {LONE}\nextlinks = {{"x": ("u%s", {LONE})}}',
        "index.rst": f"I\n=\n\n{LISTS}",
        "a.rst": "A\n=\n\nSee :x:`1`.",
    },
    "docusaurus": {
        "docusaurus.config.js": f"module.exports = {{title: {LONE}}}",
        "sidebars.json": f'{{"main": [{{"type": "doc", "id": "a", "label": {LONE}}}]}}',
        "docs/a.md": "words",
        "docs/b/_category_.json": f'{{"label": {LONE}}}',
        "docs/b/c.md": "words",
    },
    "hugo": {
        "hugo.json": f'{{"title": {LONE}, "params": {{"p": {LONE}}}}}',
        "content/a.md": f'{{"title": {LONE}, "own": {LONE}}}\nV {{{{< param own >}}}} {{{{< param p >}}}}.',
    },
}


@pytest.mark.parametrize("files", BOOKS.values(), ids=BOOKS)
def test_a_lone_surrogate_in_the_settings_does_not_break_a_book(site: Site, files: dict[str, str]) -> None:
    book = parse_book(site(files))
    assert book.title.strip("_") == "A\ufffd"
    for page in book.pages:
        "".join((page.file, page.url, page.title, page.chapter, page.text)).encode()


def test_an_invalid_yaml_key_does_not_break_a_book(site: Site) -> None:
    book = parse_book(site({"mkdocs.yml": "site_name: S\n? !foo [a]\n: 1\n", "docs/a.md": "words"}))
    assert [page.text for page in book.pages] == ["words"]
    assert [(notice.file, notice.lost) for notice in book.notices] == [("mkdocs.yml", False)]


texts = st.text(st.characters(exclude_categories=()), max_size=5)
values = st.recursive(texts, lambda inner: st.lists(inner) | st.dictionaries(texts, inner) | st.tuples(inner, inner))


@given(values)
def test_a_sanitized_value_can_be_encoded_and_stays_the_same(value: object) -> None:
    clean = sanitize(value)
    repr(clean).encode()
    assert "\0" not in str(clean)
    assert sanitize(clean) == clean


def test_a_surrogate_pair_is_one_character() -> None:
    assert parse_config(r'["\ud83d\ude00", "\ud83d", "\u0000"]', ".json") == ["😀", "\ufffd", "\ufffd"]
    assert parse_yaml(r'{"\ud83d": "\0"}') == {"\ufffd": "\ufffd"}


LIMITED = """
import resource, sys
resource.setrlimit(resource.RLIMIT_CPU, (10, 10))
resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30))
from bookbound.sources.safe_config import parse_toml
for text in eval(sys.stdin.read()):
    try:
        parse_toml(text)
    except (ValueError, RecursionError):
        pass
"""


def test_toml_keys_of_many_parts_and_values_of_many_dots_are_parsed() -> None:
    key = ".".join(["a"] * 50)
    assert parse_toml(f"{key} = '{'.' * 500} www.{'a ' * 500}'")["a"]
    assert parse_toml("".join(f"a.b.c{n} = 1.5\n" for n in range(500)))["a"]["b"]["c499"] == 1.5


@pytest.mark.parametrize("key", ["a." * 200 + "a", '"a" . ' * 200 + "a", "'a'.b . " * 100 + "a"])
def test_a_toml_key_of_too_many_parts_is_rejected(key: str) -> None:
    for text in (f"{key} = 1", f"[{key}]", f"x = {{{key} = 1}}"):
        with pytest.raises(ValueError, match="too many parts"):
            parse_toml(text)


@pytest.mark.skipif(sys.platform == "win32", reason="this system cannot limit processor time")
def test_parsing_toml_takes_time_and_memory_in_proportion_to_its_length() -> None:
    pieces = ("a.", '"a".', "a", '"', " ", "a ", '"a" ', "[", "[a.", "x = {a.", "'\n", "a.\n", ".")
    texts = repr([piece * (190_000 // len(piece)) for piece in pieces])
    done = subprocess.run([sys.executable, "-c", LIMITED], input=texts, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize(
    ("name", "text"), [("a.json", '{"a": 1}'), ("a.toml", "a = 1"), ("a.yml", "a: 1"), (".a", "a: 1")]
)
def test_the_suffix_decides_how_a_configuration_is_parsed(tmp_path: Path, name: str, text: str) -> None:
    path = tmp_path / name
    assert not load_config(path)
    path.write_text(text)
    assert load_config(path) == {"a": 1}
    path.write_text("[{")
    assert load_config(path) is None
