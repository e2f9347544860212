"""Loads the search indexes and inventories in which a built site lists its pages and anchors."""

from __future__ import annotations

import html
import re
from collections.abc import Collection, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path

from bookbound.domain.document import SourceNotice
from bookbound.sources import files
from bookbound.sources.file_loader import load_bytes
from bookbound.sources.html.html_page import detect_generator
from bookbound.sources.html.search_index_formats import SearchIndexEntry, parse_search_index
from bookbound.sources.html.urls import page_key, resolve_url
from bookbound.sources.titles import MAX_TITLE_CHARS

_TAG = re.compile(r"<[^<>]*+>")


@dataclass(slots=True)
class IndexedPage:
    """A page in a search index, with the anchors of each of its headings."""

    url: str
    title: str = ""
    anchors: dict[str, dict[str, None]] = field(default_factory=dict)

    def anchor(self, heading: str) -> str:
        """Return the anchor of the heading with this text, or nothing if there is none or more than one."""
        found = list(self.anchors.get(" ".join(heading.split()), ()))
        return found[0] if len(found) == 1 else ""


@dataclass(frozen=True, slots=True)
class SiteSearchIndex:
    """The pages that a generator lists, by key and in its order, and the files that list them."""

    files: tuple[str, ...] = ()
    pages: Mapping[str, IndexedPage] = field(default_factory=dict)

    def fits(self, keys: Collection[str]) -> bool:
        """Whether at least half of the listed pages exist."""
        return 2 * sum(name in keys for name in self.pages) >= len(self.pages) > 0


def merge_search_indexes(found: Mapping[str, Iterable[SearchIndexEntry]], home: str) -> SiteSearchIndex:
    """Merge the entries of all files that list pages of the site at `home`."""
    pages: dict[str, IndexedPage] = {}
    keys: dict[str, str] = {}
    for entry in chain.from_iterable(found.values()):
        address, _, anchor = entry.address.partition("#")
        if address not in keys:
            url = resolve_url(home, address)
            keys[address] = page_key(url) if url else ""
            pages.setdefault(keys[address], IndexedPage(url))
        page = pages[keys[address]]
        title = plain_title(entry.title)
        if not anchor:
            page.title = page.title or title[:MAX_TITLE_CHARS]
        else:
            page.anchors.setdefault(title, {})[anchor] = None
    pages.pop("", None)  # unusable addresses
    return SiteSearchIndex(tuple(found), pages)


def plain_title(title: str) -> str:
    """Return a title as text; search indexes contain text or HTML."""
    return " ".join(html.unescape(_TAG.sub("", title)).split())


MAX_SEARCH_INDEX_BYTES = 10_000_000
_SPHINX_INVENTORY = "objects.inv"
_MKDOCS_INDEX = "search/search_index.json"
_HASHED_INDEX_NAME = re.compile(r"\bsearchindex(?:-[0-9A-Za-z]{1,64})?\.js\b")


def load_search_indexes(root: Path) -> tuple[dict[str, list[SearchIndexEntry]], list[SourceNotice]]:
    """Load the entries of each search index of a built site by file name, and report broken ones.

    One search index next to the inventory is enough: mdBook writes two with the same entries.
    """
    found: dict[str, list[SearchIndexEntry]] = {}
    notices: list[SourceNotice] = []
    has_index = False
    candidates = [_SPHINX_INVENTORY, _MKDOCS_INDEX, "searchindex.json", "searchindex.js"]
    with suppress(OSError):
        candidates += sorted(path.name for path in root.iterdir() if _HASHED_INDEX_NAME.fullmatch(path.name))
    for path in (root / name for name in dict.fromkeys(candidates) if files.is_file(root / name)):
        name = files.printable_path(path.relative_to(root))
        if has_index and name != _SPHINX_INVENTORY:
            continue
        data = load_bytes(path, path.name, MAX_SEARCH_INDEX_BYTES).value if files.is_inside(path, root) else None
        entries = parse_search_index(name, data or b"")
        if entries:
            found[name] = entries
            has_index = has_index or name != _SPHINX_INVENTORY
        else:
            notices.append(make_broken_index_notice(name))
    return found, notices


def list_search_index_paths(html: str) -> tuple[str, ...]:
    """Return the paths of a site's search indexes, as the generator of this page names them."""
    generator = detect_generator(html)
    if generator == "mdbook":
        named = _HASHED_INDEX_NAME.search(html)
        return (named[0] if named else "searchindex.js",)
    return {"sphinx": (_SPHINX_INVENTORY, "searchindex.js"), "mkdocs": (_MKDOCS_INDEX,)}.get(generator, ())


def make_broken_index_notice(name: str) -> SourceNotice:
    return SourceNotice(name, "is not a readable search index; the pages are found without it")
