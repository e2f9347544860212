"""The anchors of a book that Sphinx built, as its `objects.inv` lists them."""

from __future__ import annotations

import re
import zlib
from typing import NamedTuple

from bookbound.read import decode

_HEAD = re.compile(rb"# Sphinx inventory version 2[^\n]*\n# Project:[^\n]*\n# Version:[^\n]*\n[^\n]*\n")
# The page at the root of a site has no address of its own: two spaces stand where it would be.
_LINE = re.compile(r"(?P<name>\S(?:.*?\S)??)\s++(?P<kind>[^\s:]++:\S++)\s++-?\d++\s(?P<address>\S*+)\s++(?P<title>.*)")
_LONGEST_LINE = 2_000


class Entry(NamedTuple):
    """Something that can be linked to: its page and anchor below the book's root, and what it is called."""

    address: str
    title: str


Inventory = dict[str, dict[str, Entry]]
"""All that a book lists, by kind (`std:label`, `std:doc`, `py:function`) and name."""


def read_inventory(data: bytes) -> Inventory:
    """The inventory that stands in the bytes of a file; an empty one where they are none."""
    head = _HEAD.match(data)
    if not head:
        return {}
    try:
        listed = zlib.decompressobj().decompress(data[head.end() :], decode.LARGEST)
    except zlib.error:
        return {}
    entries: Inventory = {}
    for line in listed.decode("utf-8", "replace").split("\n"):
        found = _LINE.fullmatch(line) if len(line) <= _LONGEST_LINE else None
        if found:
            name, address, title = found["name"], found["address"], found["title"]
            address = address.removesuffix("$") + name * address.endswith("$")
            entries.setdefault(found["kind"], {})[name] = Entry(address, name if title == "-" else title)
    return entries
