"""Parses the `objects.inv` inventory of a site that Sphinx built."""

from __future__ import annotations

import re
import zlib
from typing import NamedTuple

from bookbound.sources import file_loader

_HEADER = re.compile(rb"# Sphinx inventory version 2[^\n]*\n# Project:[^\n]*\n# Version:[^\n]*\n[^\n]*\n")
# The root page of a site has an empty URL, between two spaces.
_ENTRY = re.compile(r"(?P<name>\S(?:.*?\S)??)\s++(?P<kind>[^\s:]++:\S++)\s++-?\d++\s(?P<url>\S*+)\s++(?P<title>.*)")
_MAX_LINE_LENGTH = 2_000


class InventoryEntry(NamedTuple):
    """A link target: its URL below the root of the site, and its title."""

    url: str
    title: str


Inventory = dict[str, dict[str, InventoryEntry]]
"""The entries by kind (`std:label`, `std:doc`, `py:function`) and name."""


def parse_inventory(data: bytes) -> Inventory:
    """Parse the bytes of an inventory; those of another file give an empty one."""
    header = _HEADER.match(data)
    try:
        body = zlib.decompressobj().decompress(data[header.end() :], file_loader.MAX_PAGE_BYTES) if header else b""
    except zlib.error:
        return {}
    inventory: Inventory = {}
    for line in body.decode("utf-8", "replace").split("\n"):
        match = _ENTRY.fullmatch(line) if len(line) <= _MAX_LINE_LENGTH else None
        if match:
            name, url, title = match["name"], match["url"], match["title"]
            url = url[:-1] + name if url.endswith("$") else url
            inventory.setdefault(match["kind"], {})[name] = InventoryEntry(url, name if title == "-" else title)
    return inventory
