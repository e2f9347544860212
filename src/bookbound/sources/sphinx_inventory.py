"""Parses the `objects.inv` inventory of a site that Sphinx built."""

from __future__ import annotations

import re
import zlib
from typing import NamedTuple

from bookbound.sources import decoding

_INVENTORY_HEADER = re.compile(rb"# Sphinx inventory version 2[^\n]*\n# Project:[^\n]*\n# Version:[^\n]*\n[^\n]*\n")
# The page at the root of a site has no address of its own: two spaces stand where it would be.
_INVENTORY_LINE = re.compile(
    r"(?P<name>\S(?:.*?\S)??)\s++(?P<kind>[^\s:]++:\S++)\s++-?\d++\s(?P<address>\S*+)\s++(?P<title>.*)"
)
_MAX_LINE_LENGTH = 2_000


class InventoryEntry(NamedTuple):
    """Something that can be linked to: its page and anchor below the book's root, and what it is called."""

    address: str
    title: str


Inventory = dict[str, dict[str, InventoryEntry]]
"""All that a book lists, by kind (`std:label`, `std:doc`, `py:function`) and name."""


def parse_inventory(data: bytes) -> Inventory:
    """The inventory that stands in the bytes of a file; an empty one where they are none."""
    head = _INVENTORY_HEADER.match(data)
    if not head:
        return {}
    try:
        listed = zlib.decompressobj().decompress(data[head.end() :], decoding.MAX_PAGE_BYTES)
    except zlib.error:
        return {}
    entries: Inventory = {}
    for line in listed.decode("utf-8", "replace").split("\n"):
        found = _INVENTORY_LINE.fullmatch(line) if len(line) <= _MAX_LINE_LENGTH else None
        if found:
            name, address, title = found["name"], found["address"], found["title"]
            address = address.removesuffix("$") + name * address.endswith("$")
            entries.setdefault(found["kind"], {})[name] = InventoryEntry(address, name if title == "-" else title)
    return entries
