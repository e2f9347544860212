"""Which reader reads what."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from bookbound.errors import BadSource
from bookbound.read import READER, read
from bookbound.read.kinds import READERS, reader_for

Site = Callable[[dict[str, str]], Path]


def test_kinds_have_names_of_their_own_and_say_what_they_look_for() -> None:
    kinds = [reader.kind for reader in READERS]
    assert len(set(kinds)) == len(kinds)
    assert {"docusaurus", "mkdocs", "hugo", "mdbook", "markdown", "text"} <= set(kinds)
    assert all(reader.sign for reader in READERS if reader.kind in ("docusaurus", "mkdocs", "hugo", "mdbook"))
    assert READER


def test_a_kind_that_is_named_overrides_what_a_source_looks_like(site: Site) -> None:
    root = site({"mkdocs.yml": "", "docs/a.md": "# A", "docs/b.rst": "B", "c.txt": "C"})
    assert reader_for(root).kind == "mkdocs"
    assert [page.file for page in read(root, "Markdown").pages] == ["docs/a.md", "docs/b.rst"]
    assert [page.file for page in read(root, "text").pages] == ["docs/b.rst"]


def test_a_kind_that_is_unknown_is_bad_use_and_the_known_ones_are_listed(site: Site) -> None:
    with pytest.raises(BadSource, match=r"docusaurus, .*markdown"):
        read(site({"a.md": "a"}), "word")


@pytest.mark.parametrize("kind", ["docusaurus", "mkdocs", "mdbook", "hugo"])
def test_a_kind_that_does_not_fit_reads_what_is_there_or_says_so(site: Site, kind: str) -> None:
    root = site({"a.md": "a"})
    if kind in ("docusaurus", "mkdocs"):
        assert [page.text for page in read(root, kind).pages] == ["a"]
    else:
        with pytest.raises(BadSource, match=kind):
            read(root, kind)


def test_no_reader_raises_when_it_is_asked_whether_it_knows_a_source(site: Site, tmp_path: Path) -> None:
    root = site(
        {"mkdocs.yml": "[", "book.toml": "[", "hugo.toml": "[", "docusaurus.config.js": "{", "content/a.md": "a"}
    )
    for source in (root, root / "mkdocs.yml", tmp_path / "nowhere", tmp_path):
        assert all(isinstance(reader.knows(source), bool) for reader in READERS)
