"""Parses the search indexes of MkDocs, mdBook and Sphinx, and Sphinx inventories."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator
from itertools import islice
from typing import NamedTuple

from bookbound.sources.sphinx_inventory import parse_inventory

MAX_INDEX_ENTRIES = 200_000
"""The most lines that a map may have: no book has as many headings, and half a map would hide the rest of it."""
_QUOTED, _CLOSED = "JSON.parse('", "')"
_ESCAPED_CHARACTER = re.compile(r"\\(.)", re.DOTALL)
_MAX_PREFIX_CHARS = 200


class SearchIndexEntry(NamedTuple):
    """An address below the site's root, of a page or of a place on it, and what it is called."""

    address: str
    title: str


def parse_search_index(name: str, data: bytes) -> list[SearchIndexEntry]:
    """What the map of this file name lists; nothing where it is broken or has no end."""
    if name.endswith(".inv"):
        listed = _parse_inventory(data)
    else:
        text = data.decode("utf-8", "replace")
        listed = _parse_mkdocs_index(text) if name.endswith("search_index.json") else _parse_searchindex(text)
    some = islice(listed, MAX_INDEX_ENTRIES + 1)
    every = [
        SearchIndexEntry(_replace_lone_surrogates(address), _replace_lone_surrogates(title))
        for address, title in some
        if isinstance(address, str)
    ]
    return every if len(every) <= MAX_INDEX_ENTRIES else []


def _parse_mkdocs_index(text: str) -> Iterator[tuple[object, str]]:
    docs = parse_json_value(extract_members(text, ("docs",)).get("docs", ""))
    for doc in docs if isinstance(docs, list) else ():
        if isinstance(doc, dict):
            yield doc.get("location"), _as_text(doc.get("title"))


def _parse_searchindex(text: str) -> Iterator[tuple[object, str]]:
    """mdBook and Sphinx call their maps alike."""
    if (at := text.find(_QUOTED, 0, _MAX_PREFIX_CHARS)) >= 0:
        text = _ESCAPED_CHARACTER.sub(r"\1", text[at + len(_QUOTED) : text.rfind(_CLOSED)])
    found = extract_members(text, ("doc_urls", "index", "docnames", "titles", "alltitles"))
    return _parse_mdbook_index(found) if "doc_urls" in found else _parse_sphinx_index(found)


def _parse_mdbook_index(found: dict[str, str]) -> Iterator[tuple[object, str]]:
    urls = parse_json_value(found["doc_urls"])
    store = extract_members(found.get("index", ""), ("documentStore",)).get("documentStore", "")
    docs = parse_json_value(extract_members(store, ("docs",)).get("docs", ""))
    before = None
    for at, url in enumerate(urls if isinstance(urls, list) else ()):
        doc = docs.get(str(at)) if isinstance(docs, dict) else None
        title = _as_text(doc.get("title")) if isinstance(doc, dict) else ""
        page = url.partition("#")[0] if isinstance(url, str) else None
        if page != before:
            yield page, title  # the first heading of a page is its name
        yield url, title
        before = page


def _parse_sphinx_index(found: dict[str, str]) -> Iterator[tuple[object, str]]:
    docs, titles, headings = (parse_json_value(found.get(name, "")) for name in ("docnames", "titles", "alltitles"))
    pages = [f"{doc}.html" for doc in docs if isinstance(doc, str)] if isinstance(docs, list) else []
    for at, page in enumerate(pages):
        yield page, _as_text(titles[at]) if isinstance(titles, list) and at < len(titles) else ""
    for title, places in headings.items() if isinstance(headings, dict) else ():
        for place in places if isinstance(places, list) else ():
            match place:
                case [int(at), str(anchor)] if 0 <= at < len(pages):
                    yield f"{pages[at]}#{anchor}", _as_text(title)


def _parse_inventory(data: bytes) -> Iterator[tuple[object, str]]:
    """Pages, and places on them; what Sphinx calls by name and is neither, such as its page of search, is left out."""
    listed = parse_inventory(data)
    yield from ((entry.address, entry.title) for entry in listed.get("std:doc", {}).values())
    places = (entry for kind, entries in listed.items() if kind != "std:doc" for entry in entries.values())
    yield from ((entry.address, entry.title) for entry in places if "#" in entry.address)


def _replace_lone_surrogates(text: str) -> str:
    """A text without the halves of characters that JSON can name and nobody can write."""
    return text.encode("utf-8", "replace").decode()


def _as_text(title: object) -> str:
    return title if isinstance(title, str) else ""


MAX_NESTED_VALUES = 1_000_000
"""The most lists and objects that a value may hold; a book has far fewer headings."""
# A string that is never closed goes on to the end, so that nobody looks for its end twice.
_STRING = r'"(?:[^"\\]++|\\.)*+"?'
_JSON_TOKEN = re.compile(rf"{_STRING}|[{{}}\[\]:,]", re.DOTALL)
_JSON_BRACKET = re.compile(rf"{_STRING}|[{{}}\[\]]", re.DOTALL)


def extract_members(text: str, wanted: Collection[str]) -> dict[str, str]:
    """The values of some names of the first object in a text, each as it is written; names may stand without quotes."""
    found: dict[str, str] = {}
    name = ""
    begun = at = text.find("{") + 1
    while token := _JSON_TOKEN.search(text, at):
        mark, at = token[0], token.end()
        if mark in ("{", "["):
            at = _skip_nested(text, at)
        elif mark == ":" and not name:
            name, begun = text[begun : token.start()].strip().strip('"'), at
        elif mark in (",", "}", "]"):
            if name in wanted:
                found[name] = text[begun : token.start()]
            if mark != ",":
                break
            name, begun = "", at
    return found


def parse_json_value(written: str) -> object:
    """What a value of JSON says; nothing where it is broken, too deep or too much."""
    if written.count("[") + written.count("{") > MAX_NESTED_VALUES:
        return None
    try:
        return json.loads(written)
    except (ValueError, RecursionError):
        return None


def _skip_nested(text: str, at: int) -> int:
    """Where a list or object ends whose inside begins at `at`."""
    depth = 1
    for token in _JSON_BRACKET.finditer(text, at):
        mark = token[0]
        if mark in ("{", "["):
            depth += 1
        elif mark in ("}", "]"):
            depth -= 1
            if not depth:
                return token.end()
    return len(text)
