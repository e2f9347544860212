"""Finds sections of the book while a reader types: by their headings, and by the words in them.

It reads no passage with a network, so that it keeps up with typing; questions go to the assistant.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from bookbound.domain.chunk import Chunk, Place
from bookbound.domain.outline import Outline
from bookbound.domain.ports import Index
from bookbound.server.page.page_content import page_path

MAX_FOUND, MAX_FOUND_BY_HEADING = 8, 4
MAX_COMPLETIONS = 3
EXCERPT_CHARS, EXCERPT_LEAD_CHARS = 160, 40
_WORD = re.compile(r"\w+")


class FoundSection(NamedTuple):
    """A section, the names above it, its link from the path of the book, and words of it."""

    title: str
    path: tuple[str, ...]
    href: str
    excerpt: str = ""


async def find_sections(index: Index, query: str) -> list[FoundSection]:
    """The sections for what was typed so far, best first."""
    typed: list[str] = _WORD.findall(query.lower())
    if not typed:
        return []
    outline = await index.outline()
    is_last_complete = not query[-1:].isalnum()
    words = typed if is_last_complete else [*typed[:-1], *_complete(typed[-1], outline.word_counts)]
    chunks = await index.match(" ".join(words), MAX_FOUND)
    found = {link: _describe(place, link) for place in _match_headings(outline, typed) for link in [_link(place)]}
    for chunk in chunks:
        link = _link(chunk.place)
        if link not in found or not found[link].excerpt:
            found[link] = _describe(chunk.place, link, _excerpt(chunk, words))
    return list(found.values())[:MAX_FOUND]


def _complete(start: str, counts: Mapping[str, int]) -> list[str]:
    """The book's most frequent words with this beginning; the word itself comes first if the book uses it."""
    words = [word for word in counts if word.startswith(start)]
    return sorted(words, key=lambda word: (word != start, -counts[word], word))[:MAX_COMPLETIONS] or [start]


def _match_headings(outline: Outline, typed: Sequence[str]) -> list[Place]:
    """The sections in whose heading each typed word begins a word, the shortest headings first."""
    found = []
    for place in outline.sections:
        names = _WORD.findall(place.section.lower())
        if all(any(name.startswith(word) for name in names) for word in typed):
            found.append(place)
    return sorted(found, key=lambda place: len(place.section))[:MAX_FOUND_BY_HEADING]


def _link(place: Place) -> str:
    return page_path(place, "", place.anchor)


def _describe(place: Place, link: str, excerpt: str = "") -> FoundSection:
    return FoundSection(place.section or place.file, place.heading_path[:-1], link, excerpt)


def _excerpt(chunk: Chunk, words: Sequence[str]) -> str:
    """Words of a chunk from a little before the first one that was searched for."""
    text = " ".join(chunk.text.replace("|", " ").split())
    at = min((found for word in words if (found := text.lower().find(word)) >= 0), default=0)
    start = text.rfind(" ", 0, at - EXCERPT_LEAD_CHARS) + 1 if at > EXCERPT_LEAD_CHARS else 0
    end = len(text) if len(text) - start <= EXCERPT_CHARS else text.rfind(" ", start, start + EXCERPT_CHARS)
    end = end if end > start else start + EXCERPT_CHARS
    return f"{'… ' if start else ''}{text[start:end]}{' …' if end < len(text) else ''}"
