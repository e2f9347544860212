"""The nouns of a book: what a reader yields, what an index holds, what a search returns."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

BlockKind = Literal[
    "heading", "paragraph", "code", "table", "row", "list", "item", "admonition", "formula", "definition"
]
UnitKind = Literal["sentence", "code", "row", "item", "formula", "heading"]
LONGEST_PATH = 160
"""The most bytes of a heading path that are embedded, so that the words below it always have room.

In any alphabet a token stands for one byte at least; one character may be several tokens.
"""


class Run(NamedTuple):
    """`length` characters of visible text from `at` on stand at `start` to `end` of the source."""

    at: int
    length: int
    start: int
    end: int


def source_span(runs: tuple[Run, ...], start: int, end: int) -> tuple[int, int]:
    """The span of the source that holds visible characters `start` to `end`."""
    touched = [run for run in runs if run.at < end and run.at + run.length > start]
    if not touched:
        after = next((run.start for run in runs if run.at >= start), runs[-1].end if runs else 0)
        return after, after
    first, last = touched[0], touched[-1]
    return _inside(first, start, first.start), _inside(last, end, last.end)


def _inside(run: Run, at: int, edge: int) -> int:
    """The source offset of the visible offset `at`, or the run's `edge` where it is no verbatim copy."""
    verbatim = run.end - run.start == run.length
    return min(max(run.start + at - run.at, run.start), run.end) if verbatim else edge


@dataclass(frozen=True, slots=True)
class Block:
    """A piece of a page's structure: a span of its visible text, and the pieces inside it."""

    kind: BlockKind
    start: int
    end: int
    level: int = 0
    anchor: str = ""
    children: tuple[Block, ...] = ()


class Leaf(NamedTuple):
    """From the visible character `at` on, the words stand on the printed page `number`, which reads `label`.

    `anchor` opens that page where a reader's program can; it then stands for the anchors of headings.
    """

    at: int
    number: int
    label: str = ""
    anchor: str = ""


@dataclass(frozen=True, slots=True)
class Page:
    """One page of a book: its source, the words a reader sees, and where the one stands in the other.

    `leaves` are the printed pages that the words stand on, where the book has such.
    """

    file: str
    url: str
    title: str
    chapter: str
    position: int
    source: str = field(repr=False)
    text: str = field(repr=False)
    runs: tuple[Run, ...] = field(repr=False)
    blocks: tuple[Block, ...] = field(repr=False)
    leaves: tuple[Leaf, ...] = field(repr=False, default=())


class Notice(NamedTuple):
    """Something about a file that whoever indexes the book should know; `lost` says that words of the book are missing.

    What an author left out on purpose is not lost.
    """

    file: str
    message: str
    lost: bool = False


@dataclass(frozen=True, slots=True)
class Manuscript:
    """A book as its reader found it: pages in reading order, and what was odd about the files.

    `maps` are the files in which the generator of a built site lists its pages, where those were used. `beside` are
    files that were read too, though they do not stand among those of the source, named from there. `changing` says that
    it may come out otherwise later though no file changes.
    """

    title: str
    kind: str
    pages: tuple[Page, ...]
    notices: tuple[Notice, ...] = ()
    maps: tuple[str, ...] = ()
    beside: tuple[str, ...] = ()
    changing: bool = False


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


class Unit(NamedTuple):
    """Characters `start` to `end` of a text that an answer can quote whole."""

    kind: UnitKind
    start: int
    end: int

    def trimmed(self, text: str) -> Unit:
        """The unit without the white space around it; code keeps the indentation of its first line."""
        words = text[self.start : self.end].rstrip()
        blank = len(words) - len(words.lstrip())
        if self.kind == "code":
            blank = words.rfind("\n", 0, blank) + 1
        return self._replace(start=self.start + blank, end=self.start + len(words))


def laid_out(pieces: Iterable[tuple[UnitKind, str]]) -> str:
    """Units as one text: sentences run on, items and rows follow line by line, all else stands by itself."""
    text, before = "", ""
    for kind, words in pieces:
        kind = "code" if kind == "sentence" and "\n" in words else kind
        gap = _BETWEEN.get(kind, "\n\n") if kind == before else "\n\n"
        text += gap * bool(text) + words
        before = kind
    return text


_BETWEEN: Mapping[UnitKind, str] = {"sentence": " ", "item": "\n", "row": "\n"}


@dataclass(frozen=True, slots=True)
class Chunk:
    """A contiguous stretch of one page's visible text, small enough to embed, with its place."""

    id: str
    text: str
    place: Place
    position: int
    runs: tuple[Run, ...] = field(repr=False, default=())
    units: tuple[Unit, ...] = field(repr=False, default=())

    @property
    def embedded(self) -> str:
        """What the embedder reads: the heading path, cut from the outside in where it is long, then the words."""
        names = self.place.path
        while len(names) > 1 and len(" > ".join(names).encode()) > LONGEST_PATH:
            names = names[1:]
        path = " > ".join(names).encode()[:LONGEST_PATH].decode(errors="ignore")
        return f"{path}\n{self.text}"

    @property
    def hash(self) -> str:
        return hashlib.sha256(self.text.encode()).hexdigest()

    def span(self, start: int, end: int) -> tuple[int, int]:
        """Where characters `start` to `end` of this chunk stand in the source file."""
        return source_span(self.runs, start, end)


@dataclass(frozen=True, slots=True)
class Passage:
    """A chunk that a search returned, with its cosine similarity to the question, in [0, 1]."""

    chunk: Chunk
    score: float
