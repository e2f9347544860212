"""Defines the chunks that an index holds, their places in the book, and the passages that a search returns."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from bookbound.domain.document import SourceSpan, find_source_span

UnitKind = Literal["sentence", "code", "row", "item", "formula", "heading"]
MAX_HEADING_PATH_BYTES = 160
"""The most bytes of a heading path that are embedded, so that the words below it always have room.

In any alphabet a token stands for one byte at least; one character may be several tokens.
"""


@dataclass(frozen=True, slots=True)
class Place:
    """A stable address in a book: chapter, headings and anchor for people, file and characters for machines.

    `book` is its name where several were asked.
    """

    file: str
    url: str
    chapter: str
    title: str
    headings: tuple[str, ...]
    anchor: str
    start: int
    end: int
    page: int | None = None
    label: str = ""
    book: str = ""

    @property
    def section(self) -> str:
        return self.headings[-1] if self.headings else self.title

    @property
    def path(self) -> tuple[str, ...]:
        """Chapter, page and headings from the outside in, without a name repeated by the next."""
        names = (self.chapter, self.title, *self.headings)
        return tuple(name for i, name in enumerate(names) if name and (i == 0 or name != names[i - 1]))

    @property
    def link(self) -> str:
        return f"{self.url}#{self.anchor}" if self.anchor else self.url


class QuotableUnit(NamedTuple):
    """Characters `start` to `end` of a text that an answer can quote whole."""

    kind: UnitKind
    start: int
    end: int

    def trimmed(self, text: str) -> QuotableUnit:
        """The unit without the white space around it; code keeps the indentation of its first line."""
        words = text[self.start : self.end].rstrip()
        blank = len(words) - len(words.lstrip())
        if self.kind == "code":
            blank = words.rfind("\n", 0, blank) + 1
        return self._replace(start=self.start + blank, end=self.start + len(words))


def join_units(pieces: Iterable[tuple[UnitKind, str]]) -> str:
    """Units as one text: sentences run on, items and rows follow line by line, all else stands by itself."""
    text, before = "", ""
    for kind, words in pieces:
        kind = "code" if kind == "sentence" and "\n" in words else kind
        gap = _UNIT_SEPARATORS.get(kind, "\n\n") if kind == before else "\n\n"
        text += gap * bool(text) + words
        before = kind
    return text


_UNIT_SEPARATORS: Mapping[UnitKind, str] = {"sentence": " ", "item": "\n", "row": "\n"}


@dataclass(frozen=True, slots=True)
class Chunk:
    """A contiguous stretch of one page's visible text, small enough to embed, with its place."""

    id: str
    text: str
    place: Place
    position: int
    runs: tuple[SourceSpan, ...] = field(repr=False, default=())
    units: tuple[QuotableUnit, ...] = field(repr=False, default=())

    @property
    def embedded(self) -> str:
        """What the embedder reads: the heading path, cut from the outside in where it is long, then the words."""
        names = self.place.path
        while len(names) > 1 and len(" > ".join(names).encode()) > MAX_HEADING_PATH_BYTES:
            names = names[1:]
        path = " > ".join(names).encode()[:MAX_HEADING_PATH_BYTES].decode(errors="ignore")
        return f"{path}\n{self.text}"

    @property
    def hash(self) -> str:
        return hashlib.sha256(self.text.encode()).hexdigest()

    def span(self, start: int, end: int) -> tuple[int, int]:
        """Where characters `start` to `end` of this chunk stand in the source file."""
        return find_source_span(self.runs, start, end)


@dataclass(frozen=True, slots=True)
class Passage:
    """A chunk that a search returned, with its cosine similarity to the question, in [0, 1]."""

    chunk: Chunk
    score: float
