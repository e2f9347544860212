"""What a generator says of its own site: its pages, what they are called, and the anchors of their headings."""

from __future__ import annotations

import html
import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from itertools import chain

from bookbound.read.html.address import key, resolved
from bookbound.read.maps.lines import Line
from bookbound.read.titles import LONGEST

_TAG = re.compile(r"<[^<>]*+>")


@dataclass(slots=True)
class Listed:
    """A page as a map lists it, with the anchors that each of its titles has."""

    url: str
    title: str = ""
    anchors: dict[str, dict[str, None]] = field(default_factory=dict)

    def anchor(self, heading: str) -> str:
        """The anchor of the heading with these words; nothing where there is none, or several have them."""
        found = list(self.anchors.get(" ".join(heading.split()), ()))
        return found[0] if len(found) == 1 else ""


@dataclass(frozen=True, slots=True)
class Map:
    """The pages that a generator lists, by key and in its order, and the files that it lists them in."""

    files: tuple[str, ...] = ()
    pages: Mapping[str, Listed] = field(default_factory=dict)

    def fits(self, keys: Collection[str]) -> bool:
        """Whether it is the map of a site with these pages: most of what it lists is there."""
        return 2 * sum(name in keys for name in self.pages) >= len(self.pages) > 0


def drawn(found: Mapping[str, Iterable[Line]], home: str) -> Map:
    """One map of the site at `home`, from the lines of each file that lists some of it."""
    pages: dict[str, Listed] = {}
    keys: dict[str, str] = {}
    for line in chain.from_iterable(found.values()):
        address, _, anchor = line.address.partition("#")
        if address not in keys:
            url = resolved(home, address)
            keys[address] = key(url) if url else ""
            pages.setdefault(keys[address], Listed(url))
        page = pages[keys[address]]
        words = plain(line.title)
        if not anchor:
            page.title = page.title or words[:LONGEST]
        else:
            page.anchors.setdefault(words, {})[anchor] = None
    pages.pop("", None)  # what leads nowhere
    return Map(tuple(found), pages)


def plain(title: str) -> str:
    """A title as a reader sees it: maps write it as text or as HTML."""
    return " ".join(html.unescape(_TAG.sub("", title)).split())
