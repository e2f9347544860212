"""Finds a chunk's text, address and place in the payload of a point of a vector collection."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from bookbound.domain.errors import ConfigError, SourceError
from bookbound.sources.decoding import normalize_newlines
from bookbound.sources.html.urls import resolve_url
from bookbound.sources.safe_config import sanitize

FIELD_NAMES: Mapping[str, tuple[str, ...]] = {
    "text": ("content", "text", "chunk_text", "page_content", "document", "body", "chunk"),
    "url": ("source_url", "url", "page_url", "link", "href", "source"),
    "title": ("page_title", "title", "doc_title", "document_title"),
    "chapter": ("chapter", "chapter_title", "chapter_name", "module", "part"),
    "section": ("section_title", "section", "section_name", "heading", "header"),
    "position": ("position", "chunk_index", "chunk_position", "chunk_number", "order", "index"),
    "page": ("page", "page_number"),
    "id": ("chunk_id", "id"),
    "book": ("book_title", "book_name", "book"),
}
"""The fields that are looked for, in this order, in a payload and then in its object `metadata`."""
# Only the payloads of an index of ours have all of these.
_OWN_FIELDS = frozenset(("spans", "units", "cut", "offset"))
_MAX_NAME_CHARS = 300
_LOCAL_ORIGIN = "http://localhost"
_ANCHOR = re.compile(r"[^\s:<>\"']{1,200}")


class CollectedChunk(NamedTuple):
    """One chunk of a collection; `position` and `page` are missing if the payload has none."""

    id: str
    text: str
    url: str
    anchor: str = ""
    title: str = ""
    chapter: str = ""
    section: str = ""
    position: int | None = None
    page: int | None = None
    book: str = ""


class PayloadReader:
    """Reads payloads by the usual names of their fields, or by the names that `mapping` gives."""

    def __init__(self, mapping: Mapping[str, str] | None = None) -> None:
        mapping = mapping or {}
        if unknown := sorted(mapping.keys() - FIELD_NAMES.keys()):
            raise ConfigError(
                f"There is no field {unknown[0]!r} to map. Map one of {', '.join(FIELD_NAMES)}: --field text=NAME"
            )
        self._names = {role: (mapping[role],) if role in mapping else names for role, names in FIELD_NAMES.items()}
        self.found_names: dict[str, None] = {}

    def read(self, point_id: str, payload: Mapping[str, Any]) -> CollectedChunk | str:
        """Returns the chunk of a payload, or the name of what it lacks: `text` or `url`."""
        if payload.keys() >= _OWN_FIELDS:
            raise SourceError(
                "This collection is an index of Bookbound, so it needs no indexing. To ask it, set `qdrant_url` and "
                "`qdrant_collection`. To copy it, use: bookbound export"
            )
        if len(self.found_names) < 100:
            self.found_names |= dict.fromkeys(map(str, payload))
        text = next(filter(str.strip, self._values(payload, "text", str)), "")
        url, anchor = next(filter(any, map(parse_page_url, self._values(payload, "url", str))), ("", ""))
        if not text or not url:
            return "url" if text else "text"
        numbers = (map(_to_number, self._values(payload, role, int, float, str)) for role in ("position", "page"))
        position, page = (next(values, None) for values in numbers)
        return CollectedChunk(
            id=next((str(value) for value in self._values(payload, "id", str, int)), point_id),
            text=normalize_newlines(text),
            url=url,
            anchor=anchor,
            position=position,
            page=page if page and page > 0 else None,
            **{role: self._name(payload, role) for role in ("title", "chapter", "section", "book")},
        )

    def describe(self, role: str) -> str:
        """Says under which names a field was looked for, and which fields there are."""
        found = ", ".join(list(self.found_names)[:20]) or "none"
        return f"looked for {', '.join(self._names[role])}; found {found}"

    def _name(self, payload: Mapping[str, Any], role: str) -> str:
        """Returns a name on one line; the last one of a path of headings."""
        value = next(self._values(payload, role, str, list), "")
        if isinstance(value, list):
            value = next((each for each in reversed(value) if isinstance(each, str)), "")
        return " ".join(value.split())[:_MAX_NAME_CHARS]

    def _values(self, payload: Mapping[str, Any], role: str, *kinds: type) -> Iterator[Any]:
        """Yields what a payload has for a field, the best name first."""
        for fields in (payload, payload.get("metadata")):
            for name in self._names[role]:
                value = _look_up(fields, name)
                if isinstance(value, kinds) and not isinstance(value, bool) and value not in ("", []):
                    yield sanitize(value)


def parse_page_url(text: str) -> tuple[str, str]:
    """Returns an http(s) address or a path from the root without its anchor, and the anchor; nothing for others."""
    text = text.strip()
    is_path = text.startswith("/") and not text.startswith("//")
    url = resolve_url(_LOCAL_ORIGIN, text) if is_path else resolve_url(text, text)
    if not url:
        return "", ""
    fragment = urlsplit(text).fragment
    return url.removeprefix(_LOCAL_ORIGIN) if is_path else url, fragment if _ANCHOR.fullmatch(fragment) else ""


def _look_up(fields: Any, name: str) -> Any:
    """Returns the value of a field; a name with dots leads into objects unless a field has that very name."""
    if not isinstance(fields, dict):
        return None
    head, _, rest = name.partition(".")
    if name in fields:
        return fields[name]
    return _look_up(fields.get(head), rest) if rest else None


def _to_number(value: float | str) -> int | None:
    try:
        return int(value)
    except (ValueError, OverflowError):
        return None
