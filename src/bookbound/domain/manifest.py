"""Defines the manifest in which an index describes itself."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import NamedTuple

DEFAULT_LANGUAGE = "English"


def utc_now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


@dataclass(frozen=True, slots=True)
class ChapterSummary:
    """The size of one chapter in an index."""

    title: str
    pages: int
    chunks: int


class PageFingerprint(NamedTuple):
    """Identifies a version of a page.

    `fingerprint` covers everything that determines its chunks and vectors. `source_fingerprint` covers its source text
    alone, so it stays the same when the page is renamed.
    """

    file: str
    fingerprint: str
    source_fingerprint: str
    chunks: int = 0


@dataclass(frozen=True, slots=True)
class Manifest:
    """Describes an index: enough to skip what did not change, and to refuse damage or another embedder.

    `outside_files` are the files outside the source folder that were read too; `source_fingerprint` covers them.
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
    source_fingerprint: str = ""
    outside_files: tuple[str, ...] = ()
    page_fingerprints: tuple[PageFingerprint, ...] = ()
    generation: str = ""
    created: str = ""
    digest: str = ""
    language: str = DEFAULT_LANGUAGE

    @property
    def words(self) -> int:
        """How many words the chunks have together."""
        return round(self.average_words * self.chunks)
