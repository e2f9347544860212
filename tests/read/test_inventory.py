"""The anchors that Sphinx lists beside a built book."""

from __future__ import annotations

import zlib
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from bookbound.read.sphinx.inventory import Entry, Inventory, load_inventory

HEAD = (
    b"# Sphinx inventory version 2\n# Project: The Manual\n# Version: 2.1\n# The remainder is compressed using zlib.\n"
)
LINES = b"""a.run py:function 1 api.html#$ -
setup-label std:label -1 setup.html#setup-label How to set it up
two words std:label -1 index.html#two-words Two words
index std:doc -1 index.html The Manual
broken line
"""


def test_objects_labels_and_pages_are_found_by_kind_and_name(tmp_path: Path) -> None:
    (tmp_path / "objects.inv").write_bytes(HEAD + zlib.compress(LINES))
    found = load_inventory(tmp_path / "objects.inv")
    assert (found.project, found.version) == ("The Manual", "2.1")
    assert found.find("py:function", "a.run") == Entry("api.html#a.run", "a.run")
    assert found.find("std:label", "setup-label") == Entry("setup.html#setup-label", "How to set it up")
    assert found.find("std:label", "two words") == Entry("index.html#two-words", "Two words")
    assert found.find("std:doc", "index") == Entry("index.html", "The Manual")
    assert found.find("std:doc", "nowhere") is None


def test_what_is_no_inventory_lists_nothing(tmp_path: Path) -> None:
    (tmp_path / "torn").write_bytes(HEAD + zlib.compress(LINES)[:-9])
    (tmp_path / "other").write_bytes(HEAD + b"not compressed")
    (tmp_path / "old").write_bytes(b"# Sphinx inventory version 1\n")
    assert load_inventory(tmp_path / "other") == load_inventory(tmp_path / "old") == Inventory()
    assert load_inventory(tmp_path / "nowhere") == Inventory()
    assert load_inventory(tmp_path / "torn").project == "The Manual"


def test_a_bomb_is_read_up_to_a_limit(tmp_path: Path) -> None:
    (tmp_path / "objects.inv").write_bytes(HEAD + zlib.compress(b"x py:data 1 a.html - \n" + bytes(100_000_000)))
    assert load_inventory(tmp_path / "objects.inv").find("py:data", "x")


@given(st.binary(), st.binary())
def test_any_bytes_end_well(tmp_path_factory: object, head: bytes, rest: bytes) -> None:
    path = Path(tmp_path_factory.getbasetemp()) / "any.inv"  # type: ignore[attr-defined]
    path.write_bytes(head + HEAD + rest)
    load_inventory(path)
    path.write_bytes(HEAD + zlib.compress(rest))
    load_inventory(path)
