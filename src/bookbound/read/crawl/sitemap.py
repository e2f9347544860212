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


def mapped(
    starts: Iterable[str], own: Callable[[str], str], fetch: Callable[[str], bytes | None], most: int
) -> list[str]:
    """The pages that maps list, and the maps that those list, in their order; `most` of them.

    Only what is the site's `own` counts; it is asked what an address is rightly called.
    """
    waiting, pages = dict.fromkeys(filter(None, map(own, starts))), dict[str, None]()
    asked: set[str] = set()
    while waiting and len(asked) < MOST_MAPS and len(pages) < most:
        url = next(iter(waiting))
        asked.add(url)
        found = read_map(fetch(url) or b"")
        pages |= dict.fromkeys(filter(None, map(own, found.pages)))
        further = (each for each in map(own, found.maps[:MOST_MAPS]) if each and each not in asked)
        waiting = {each: None for each in (*further, *waiting) if each != url}
    return list(pages)[:most]
