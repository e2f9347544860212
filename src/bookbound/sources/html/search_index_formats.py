"""Parses the search indexes of MkDocs, mdBook and Sphinx, and Sphinx inventories."""

from __future__ import annotations

import json
import re
import zlib
from collections.abc import Collection, Iterator
from itertools import islice
from typing import NamedTuple

from bookbound.sources import file_loader
from bookbound.sources.safe_config import replace_lone_surrogates

MAX_INDEX_ENTRIES = 200_000
"""A larger index is not used: no book has as many headings, and half an index would hide the other pages."""
_JSON_PARSE = "JSON.parse('"
_ESCAPED_CHARACTER = re.compile(r"\\(.)", re.DOTALL)
_MAX_PREFIX_CHARS = 200
_INVENTORY_HEADER = re.compile(rb"# Sphinx inventory version 2[^\n]*\n# Project:[^\n]*\n# Version:[^\n]*\n[^\n]*\n")
# The root page of a site has an empty URL, between two spaces.
_INVENTORY_ENTRY = re.compile(
    r"(?P<name>\S(?:.*?\S)??)\s++(?P<kind>[^\s:]++:\S++)\s++-?\d++\s(?P<url>\S*+)\s++(?P<title>.*)"
)
_MAX_INVENTORY_LINE_CHARS = 2_000


class SearchIndexEntry(NamedTuple):
    """The title of a page, or of a place on a page, and its address below the site's root."""

    address: str
    title: str


def parse_search_index(name: str, data: bytes) -> list[SearchIndexEntry]:
    """Parse the search index of this file name; return nothing if it is broken or too large."""
    if name.endswith(".inv"):
        parsed = _parse_inventory(data)
    else:
        text = data.decode("utf-8", "replace")
        parsed = _parse_mkdocs_index(text) if name.endswith("search_index.json") else _parse_searchindex(text)
    entries = [
        SearchIndexEntry(*(replace_lone_surrogates(each if isinstance(each, str) else "") for each in pair))
        for pair in islice(parsed, MAX_INDEX_ENTRIES + 1)
        if isinstance(pair[0], str)
    ]
    return entries if len(entries) <= MAX_INDEX_ENTRIES else []


def _parse_mkdocs_index(text: str) -> Iterator[tuple[object, object]]:
    docs = parse_json_value(extract_members(text, ("docs",)).get("docs", ""))
    for doc in docs if isinstance(docs, list) else ():
        if isinstance(doc, dict):
            yield doc.get("location"), doc.get("title")


def _parse_searchindex(text: str) -> Iterator[tuple[object, object]]:
    """Parse the index of mdBook or Sphinx, which use the same file name."""
    if (at := text.find(_JSON_PARSE, 0, _MAX_PREFIX_CHARS)) >= 0:
        text = _ESCAPED_CHARACTER.sub(r"\1", text[at + len(_JSON_PARSE) : text.rfind("')")])
    found = extract_members(text, ("doc_urls", "index", "docnames", "titles", "alltitles"))
    return _parse_mdbook_index(found) if "doc_urls" in found else _parse_sphinx_index(found)


def _parse_mdbook_index(found: dict[str, str]) -> Iterator[tuple[object, object]]:
    urls = parse_json_value(found["doc_urls"])
    store = extract_members(found.get("index", ""), ("documentStore",)).get("documentStore", "")
    docs = parse_json_value(extract_members(store, ("docs",)).get("docs", ""))
    previous = None
    for at, url in enumerate(urls if isinstance(urls, list) else ()):
        doc = docs.get(str(at)) if isinstance(docs, dict) else None
        title = doc.get("title") if isinstance(doc, dict) else ""
        page = url.partition("#")[0] if isinstance(url, str) else None
        if page != previous:
            yield page, title  # the first heading of a page is its title
        yield url, title
        previous = page


def _parse_sphinx_index(found: dict[str, str]) -> Iterator[tuple[object, object]]:
    docs, titles, headings = (parse_json_value(found.get(name, "")) for name in ("docnames", "titles", "alltitles"))
    pages = [f"{doc}.html" for doc in docs if isinstance(doc, str)] if isinstance(docs, list) else []
    for at, page in enumerate(pages):
        yield page, titles[at] if isinstance(titles, list) and at < len(titles) else ""
    for title, places in headings.items() if isinstance(headings, dict) else ():
        for place in places if isinstance(places, list) else ():
            match place:
                case [int(at), str(anchor)] if 0 <= at < len(pages):
                    yield f"{pages[at]}#{anchor}", title


def _parse_inventory(data: bytes) -> Iterator[tuple[object, object]]:
    """Yield pages and places on them; other entries, such as the search page, are not part of the book."""
    listed = parse_inventory(data)
    yield from ((entry.url, entry.title) for entry in listed.get("std:doc", {}).values())
    places = (entry for kind, entries in listed.items() if kind != "std:doc" for entry in entries.values())
    yield from ((entry.url, entry.title) for entry in places if "#" in entry.url)


class InventoryEntry(NamedTuple):
    """A link target: its URL below the root of the site, and its title."""

    url: str
    title: str


Inventory = dict[str, dict[str, InventoryEntry]]
"""The entries by kind (`std:label`, `std:doc`, `py:function`) and name."""


def parse_inventory(data: bytes) -> Inventory:
    """Parse the bytes of an inventory; those of another file give an empty one."""
    header = _INVENTORY_HEADER.match(data)
    try:
        body = zlib.decompressobj().decompress(data[header.end() :], file_loader.MAX_PAGE_BYTES) if header else b""
    except zlib.error:
        return {}
    inventory: Inventory = {}
    for line in body.decode("utf-8", "replace").split("\n"):
        if len(line) <= _MAX_INVENTORY_LINE_CHARS and (match := _INVENTORY_ENTRY.fullmatch(line)):
            name, url, title = match["name"], match["url"], match["title"]
            # A dollar sign stands for the name, which saves room in the file.
            url = url[:-1] + name if url.endswith("$") else url
            inventory.setdefault(match["kind"], {})[name] = InventoryEntry(url, name if title == "-" else title)
    return inventory


MAX_NESTED_VALUES = 1_000_000
"""The most lists and objects in one value; a book has far fewer headings."""
# A string that is never closed goes on to the end, so that its end is searched once.
_STRING = r'"(?:[^"\\]++|\\.)*+"?'
_JSON_TOKEN = re.compile(rf"{_STRING}|[{{}}\[\]:,]", re.DOTALL)
_JSON_BRACKET = re.compile(rf"{_STRING}|[{{}}\[\]]", re.DOTALL)


def extract_members(text: str, wanted: Collection[str]) -> dict[str, str]:
    """Return the unparsed values of some members of the first object in a text; names can be without quotes.

    The other members, which can be very large, are never parsed.
    """
    found: dict[str, str] = {}
    name = ""
    start = at = text.find("{") + 1
    while token := _JSON_TOKEN.search(text, at):
        mark, at = token[0], token.end()
        if mark in ("{", "["):
            at = _skip_nested(text, at)
        elif mark == ":" and not name:
            name, start = text[start : token.start()].strip().strip('"'), at
        elif mark in (",", "}", "]"):
            if name in wanted:
                found[name] = text[start : token.start()]
            if mark != ",":
                break
            name, start = "", at
    return found


def parse_json_value(text: str) -> object:
    """Parse a JSON value; return nothing if it is broken, too deep or too large."""
    if text.count("[") + text.count("{") > MAX_NESTED_VALUES:
        return None
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _skip_nested(text: str, at: int) -> int:
    """Return the end of the list or object whose content begins at `at`."""
    depth = 1
    for token in _JSON_BRACKET.finditer(text, at):
        depth += (token[0] in ("{", "[")) - (token[0] in ("}", "]"))
        if not depth:
            return token.end()
    return len(text)
