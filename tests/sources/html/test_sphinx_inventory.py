"""The inventory that Sphinx writes next to a built book."""

from __future__ import annotations

import zlib

from hypothesis import given
from hypothesis import strategies as st

from bookbound.sources.html.search_index_formats import InventoryEntry, parse_inventory

HEAD = (
    b"# Sphinx inventory version 2\n# Project: The Manual\n# Version: 2.1\n# The remainder is compressed using zlib.\n"
)
LINES = b"""a.run py:function 1 api.html#$ -
setup-label std:label -1 setup.html#setup-label How to set it up
two words std:label -1 index.html#two-words Two words
index std:doc -1 index.html The Manual
broken line
"""


def test_entries_are_grouped_by_kind_and_name() -> None:
    assert parse_inventory(HEAD + zlib.compress(LINES)) == {
        "py:function": {"a.run": InventoryEntry("api.html#a.run", "a.run")},
        "std:label": {
            "setup-label": InventoryEntry("setup.html#setup-label", "How to set it up"),
            "two words": InventoryEntry("index.html#two-words", "Two words"),
        },
        "std:doc": {"index": InventoryEntry("index.html", "The Manual")},
    }


def test_other_files_give_an_empty_inventory() -> None:
    for data in (b"", HEAD + b"not compressed", b"# Sphinx inventory version 1\n"):
        assert parse_inventory(data) == {}
    assert parse_inventory(HEAD + zlib.compress(LINES)[:-9])["py:function"], "a truncated file is read in part"


def test_a_decompression_bomb_is_read_up_to_a_limit() -> None:
    bomb = HEAD + zlib.compress(b"x py:data 1 a.html - \n" + bytes(100_000_000))
    assert parse_inventory(bomb) == {"py:data": {"x": InventoryEntry("a.html", "- ")}}


@given(st.binary(), st.binary())
def test_any_bytes_are_accepted(head: bytes, rest: bytes) -> None:
    parse_inventory(head + HEAD + rest)
    parse_inventory(HEAD + zlib.compress(rest))
