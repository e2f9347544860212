"""The anchors that Sphinx lists beside a built book."""

from __future__ import annotations

import zlib

from hypothesis import given
from hypothesis import strategies as st

from bookbound.sources.sphinx_inventory import InventoryEntry, parse_inventory

HEAD = (
    b"# Sphinx inventory version 2\n# Project: The Manual\n# Version: 2.1\n# The remainder is compressed using zlib.\n"
)
LINES = b"""a.run py:function 1 api.html#$ -
setup-label std:label -1 setup.html#setup-label How to set it up
two words std:label -1 index.html#two-words Two words
index std:doc -1 index.html The Manual
broken line
"""


def test_objects_labels_and_pages_are_found_by_kind_and_name() -> None:
    assert parse_inventory(HEAD + zlib.compress(LINES)) == {
        "py:function": {"a.run": InventoryEntry("api.html#a.run", "a.run")},
        "std:label": {
            "setup-label": InventoryEntry("setup.html#setup-label", "How to set it up"),
            "two words": InventoryEntry("index.html#two-words", "Two words"),
        },
        "std:doc": {"index": InventoryEntry("index.html", "The Manual")},
    }


def test_what_is_no_inventory_lists_nothing() -> None:
    for data in (b"", HEAD + b"not compressed", b"# Sphinx inventory version 1\n"):
        assert parse_inventory(data) == {}
    assert parse_inventory(HEAD + zlib.compress(LINES)[:-9])["py:function"], "what is torn is read up to there"


def test_a_bomb_is_read_up_to_a_limit() -> None:
    bomb = HEAD + zlib.compress(b"x py:data 1 a.html - \n" + bytes(100_000_000))
    assert parse_inventory(bomb) == {"py:data": {"x": InventoryEntry("a.html", "- ")}}


@given(st.binary(), st.binary())
def test_any_bytes_end_well(head: bytes, rest: bytes) -> None:
    parse_inventory(head + HEAD + rest)
    parse_inventory(HEAD + zlib.compress(rest))
