"""The lines of the maps that generators write beside the sites they build."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice
from typing import NamedTuple

from bookbound.read.maps.members import members, value
from bookbound.read.sphinx.inventory import read_inventory

MOST_LINES = 200_000
"""The most lines that a map may have: no book has as many headings, and half a map would hide the rest of it."""

_QUOTED, _CLOSED = "JSON.parse('", "')"
_ESCAPED = re.compile(r"\\(.)", re.DOTALL)
_OPENING = 200


class Line(NamedTuple):
    """An address below the site's root, of a page or of a place on it, and what it is called."""

    address: str
    title: str


def lines(name: str, data: bytes) -> list[Line]:
    """What the map of this file name lists; nothing where it is broken or has no end."""
    if name.endswith(".inv"):
        listed = _inventory(data)
    else:
        text = data.decode("utf-8", "replace")
        listed = _mkdocs(text) if name.endswith("search_index.json") else _searchindex(text)
    some = islice(listed, MOST_LINES + 1)
    every = [Line(_whole(address), _whole(title)) for address, title in some if isinstance(address, str)]
    return every if len(every) <= MOST_LINES else []


def _mkdocs(text: str) -> Iterator[tuple[object, str]]:
    docs = value(members(text, ("docs",)).get("docs", ""))
    for doc in docs if isinstance(docs, list) else ():
        if isinstance(doc, dict):
            yield doc.get("location"), _words(doc.get("title"))


def _searchindex(text: str) -> Iterator[tuple[object, str]]:
    """mdBook and Sphinx call their maps alike."""
    if (at := text.find(_QUOTED, 0, _OPENING)) >= 0:
        text = _ESCAPED.sub(r"\1", text[at + len(_QUOTED) : text.rfind(_CLOSED)])
    found = members(text, ("doc_urls", "index", "docnames", "titles", "alltitles"))
    return _mdbook(found) if "doc_urls" in found else _sphinx(found)


def _mdbook(found: dict[str, str]) -> Iterator[tuple[object, str]]:
    urls = value(found["doc_urls"])
    store = members(found.get("index", ""), ("documentStore",)).get("documentStore", "")
    docs = value(members(store, ("docs",)).get("docs", ""))
    before = None
    for at, url in enumerate(urls if isinstance(urls, list) else ()):
        doc = docs.get(str(at)) if isinstance(docs, dict) else None
        title = _words(doc.get("title")) if isinstance(doc, dict) else ""
        page = url.partition("#")[0] if isinstance(url, str) else None
        if page != before:
            yield page, title  # the first heading of a page is its name
        yield url, title
        before = page


def _sphinx(found: dict[str, str]) -> Iterator[tuple[object, str]]:
    docs, titles, headings = (value(found.get(name, "")) for name in ("docnames", "titles", "alltitles"))
    pages = [f"{doc}.html" for doc in docs if isinstance(doc, str)] if isinstance(docs, list) else []
    for at, page in enumerate(pages):
        yield page, _words(titles[at]) if isinstance(titles, list) and at < len(titles) else ""
    for title, places in headings.items() if isinstance(headings, dict) else ():
        for place in places if isinstance(places, list) else ():
            match place:
                case [int(at), str(anchor)] if 0 <= at < len(pages):
                    yield f"{pages[at]}#{anchor}", _words(title)


def _inventory(data: bytes) -> Iterator[tuple[object, str]]:
    """Pages, and places on them; what Sphinx calls by name and is neither, such as its page of search, is left out."""
    listed = read_inventory(data)
    yield from ((entry.address, entry.title) for entry in listed.get("std:doc", {}).values())
    places = (entry for kind, entries in listed.items() if kind != "std:doc" for entry in entries.values())
    yield from ((entry.address, entry.title) for entry in places if "#" in entry.address)


def _whole(text: str) -> str:
    """A text without the halves of characters that JSON can name and nobody can write."""
    return text.encode("utf-8", "replace").decode()


def _words(title: object) -> str:
    return title if isinstance(title, str) else ""
