"""Defines the manifest in which an index describes itself."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple


@dataclass(frozen=True, slots=True)
class ChapterSummary:
    """A chapter as an index knows it."""

    title: str
    pages: int
    chunks: int


class PageFingerprint(NamedTuple):
    """A page as an index knows it: its file, a fingerprint of all that its chunks and their vectors come from.

    `words` is a fingerprint of its source alone, which a page keeps when it is renamed.
    """

    file: str
    fingerprint: str
    words: str
    chunks: int = 0


@dataclass(frozen=True, slots=True)
class Manifest:
    """What an index says of itself: enough to refuse one that is damaged or was made for another embedder.

    `source` is the fingerprint of all that was read, some of it in files `beside` the source, and `sheets` are those of
    the pages: what has not changed since is known by them.
    """

    title: str
    kind: str
    embedder: str
    dimension: int
    splitter: str
    average_words: float
    pages: int
    chunks: int
    chapters: tuple[ChapterSummary, ...] = ()
    source: str = ""
    beside: tuple[str, ...] = ()
    sheets: tuple[PageFingerprint, ...] = ()
    generation: str = ""
    created: str = ""
    digest: str = ""
