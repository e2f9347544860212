"""The pages that a site's maps list."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterable
from typing import NamedTuple

from bookbound.read.defusedxml import LARGEST, local, named, parse_xml

MOST_MAPS = 100
"""The most maps that are read of one site; each may list others."""

_GZIP = b"\x1f\x8b"


class Map(NamedTuple):
    """The pages and the further maps that one map lists."""

    pages: list[str]
    maps: list[str]


def read_map(data: bytes) -> Map:
    """What a map lists, packed or not; nothing where it is broken."""
    if data.startswith(_GZIP):
        try:
            data = zlib.decompressobj(31).decompress(data, LARGEST + 1)
        except zlib.error:
            return Map([], [])
    top = parse_xml(data)
    places = [(entry.text or "").strip() for entry in named(top, "loc")]
    places = [place for place in places if place]
    return Map([], places) if top is not None and local(top) == "sitemapindex" else Map(places, [])


def mapped(starts: Iterable[str], fetch: Callable[[str], bytes | None], most: int) -> list[str]:
    """The pages that maps list, and the maps that those list, in their order; `most` of them."""
    waiting, seen, pages = list(starts)[::-1], set[str](), dict[str, None]()
    while waiting and len(seen) < MOST_MAPS and len(pages) < most:
        url = waiting.pop()
        if url in seen:
            continue
        seen.add(url)
        found = read_map(fetch(url) or b"")
        pages |= dict.fromkeys(found.pages)
        waiting += reversed(found.maps)
    return list(pages)[:most]
