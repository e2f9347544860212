"""Loads the search indexes and inventories in which a built site lists its pages and anchors."""

from __future__ import annotations

import html
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path

from bookbound.domain.document import SourceNotice
from bookbound.sources import decoding, files
from bookbound.sources.html.html_page import detect_generator
from bookbound.sources.html.search_index_formats import SearchIndexEntry, parse_search_index
from bookbound.sources.html.urls import page_key, resolve_url
from bookbound.sources.titles import MAX_TITLE_CHARS

_TAG = re.compile(r"<[^<>]*+>")


@dataclass(slots=True)
class IndexedPage:
    """A page as a map lists it, with the anchors that each of its titles has."""

    url: str
    title: str = ""
    anchors: dict[str, dict[str, None]] = field(default_factory=dict)

    def anchor(self, heading: str) -> str:
        """The anchor of the heading with these words; nothing where there is none, or several have them."""
        found = list(self.anchors.get(" ".join(heading.split()), ()))
        return found[0] if len(found) == 1 else ""


@dataclass(frozen=True, slots=True)
class SiteSearchIndex:
    """The pages that a generator lists, by key and in its order, and the files that it lists them in."""

    files: tuple[str, ...] = ()
    pages: Mapping[str, IndexedPage] = field(default_factory=dict)

    def fits(self, keys: Collection[str]) -> bool:
        """Whether it is the map of a site with these pages: most of what it lists is there."""
        return 2 * sum(name in keys for name in self.pages) >= len(self.pages) > 0


def merge_search_indexes(found: Mapping[str, Iterable[SearchIndexEntry]], home: str) -> SiteSearchIndex:
    """One map of the site at `home`, from the lines of each file that lists some of it."""
    pages: dict[str, IndexedPage] = {}
    keys: dict[str, str] = {}
    for line in chain.from_iterable(found.values()):
        address, _, anchor = line.address.partition("#")
        if address not in keys:
            url = resolve_url(home, address)
            keys[address] = page_key(url) if url else ""
            pages.setdefault(keys[address], IndexedPage(url))
        page = pages[keys[address]]
        words = plain_title(line.title)
        if not anchor:
            page.title = page.title or words[:MAX_TITLE_CHARS]
        else:
            page.anchors.setdefault(words, {})[anchor] = None
    pages.pop("", None)  # what leads nowhere
    return SiteSearchIndex(tuple(found), pages)


def plain_title(title: str) -> str:
    """A title as a reader sees it: maps write it as text or as HTML."""
    return " ".join(html.unescape(_TAG.sub("", title)).split())


MAX_SEARCH_INDEX_BYTES = 10_000_000
"""The most bytes of a map that are read."""
_SPHINX_INVENTORY = "objects.inv"
_MKDOCS_INDEX = "search/search_index.json"
_HASHED_INDEX_NAME = re.compile(r"\bsearchindex(?:-[0-9A-Za-z]{1,64})?\.js\b")


def load_search_indexes(root: Path) -> tuple[dict[str, list[SearchIndexEntry]], list[SourceNotice]]:
    """The lines of each map in the folder of a built site, by the file's name, and the maps that are broken.

    Of the maps for a site's search one is enough: mdBook writes two with the same lines.
    """
    found: dict[str, list[SearchIndexEntry]] = {}
    odd: list[SourceNotice] = []
    searched = False
    for path in _iterate_candidates(root):
        name = files.printable_path(path.relative_to(root))
        if searched and name != _SPHINX_INVENTORY:
            continue
        listed = parse_search_index(name, _load_index_bytes(path, root))
        if listed:
            found[name] = listed
            searched = searched or name != _SPHINX_INVENTORY
        else:
            odd.append(make_broken_index_notice(name))
    return found, odd


def list_search_index_paths(html: str) -> tuple[str, ...]:
    """The maps that a site has, below its root, if its generator is the one that made this page."""
    maker = detect_generator(html)
    if maker == "mdbook":
        named = _HASHED_INDEX_NAME.search(html)
        return (named[0] if named else "searchindex.js",)
    return {"sphinx": (_SPHINX_INVENTORY, "searchindex.js"), "mkdocs": (_MKDOCS_INDEX,)}.get(maker, ())


def make_broken_index_notice(name: str) -> SourceNotice:
    """What is said of a map that lists nothing."""
    return SourceNotice(name, "is no map of the site that can be read; its pages are found without it")


def _iterate_candidates(root: Path) -> Iterator[Path]:
    named = [root / name for name in (_SPHINX_INVENTORY, _MKDOCS_INDEX, "searchindex.json", "searchindex.js")]
    yield from (path for path in [*named, *_find_hashed_indexes(root)] if files.is_file(path))


def _find_hashed_indexes(root: Path) -> list[Path]:
    try:
        return sorted(
            path for path in root.iterdir() if _HASHED_INDEX_NAME.fullmatch(path.name) and path.name != "searchindex.js"
        )
    except OSError:
        return []


def _load_index_bytes(path: Path, root: Path) -> bytes:
    """What stands in a map; nothing where it is too large, cannot be read or lies elsewhere."""
    if not files.is_inside(path, root):
        return b""
    return decoding.load_bytes(path, path.name, MAX_SEARCH_INDEX_BYTES)[0] or b""
