"""Defines chunks, their places in the book, how their units belong together, and the passages that a search returns."""

from __future__ import annotations

import hashlib
import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal, NamedTuple

from bookbound.domain.document import MarkupSpan, PageBreak, SourceSpan, find_source_span, safe_url

UnitKind = Literal["sentence", "code", "row", "item", "formula", "heading"]
MAX_HEADING_PATH_BYTES = 160
"""Limits the embedded heading path, so that the text below it always has room.

The limit is in bytes because a token covers at least one byte, while one character may take several tokens.
"""
MAX_LABEL_CHARACTERS = 60
MAX_COLUMN_NAME_CHARACTERS = 40  # a longer cell is content
MAX_WHOLE_UNITS = 10
MAX_WHOLE_CHARACTERS = 900
"""A list or table that has no more is always quoted as a whole."""
_CELL_BORDER = re.compile(r"(?<!\S)\|(?!\S)")
_BLANK_LINE = re.compile(r"\n\s*\n")
_DIAGRAM = re.compile(
    r"\s*(?:flowchart|graph\s+(?:TD|TB|LR|RL|BT)|sequenceDiagram|classDiagram|stateDiagram|erDiagram|gantt|mindmap)\b"
)


@dataclass(frozen=True, slots=True)
class Place:
    """A stable address in a book: chapter, headings and anchor for people, file and characters for machines.

    `book` is set only if several books are searched together.
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
    page_label: str = ""
    book: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "url", safe_url(self.url))

    @property
    def section(self) -> str:
        return self.headings[-1] if self.headings else self.title

    @property
    def heading_path(self) -> tuple[str, ...]:
        """Returns chapter, page and headings, outermost first, without direct repetitions."""
        names = (self.chapter, self.title, *self.headings)
        return tuple(name for i, name in enumerate(names) if name and (i == 0 or name != names[i - 1]))

    @property
    def link(self) -> str:
        """Returns the URL with the anchor; a URL that already names a part of a file contains an encoded `#`."""
        separator = "%23" if "#" in self.url else "#"
        return f"{self.url}{separator}{self.anchor}" if self.anchor else self.url

    @property
    def is_web_page(self) -> bool:
        """Whether a browser can highlight words at this place; other programs open PDF, EPUB and DOCX files."""
        return not self.url.partition("#")[0].lower().endswith((".pdf", ".epub", ".docx"))

    def on_page(self, breaks: Sequence[PageBreak], at: int, **fields: Any) -> Place:
        """Returns this place with the given fields and on the printed page of the last break up to `at`, if any."""
        if count := bisect_right(breaks, at, key=lambda each: each.at):
            page = breaks[count - 1]
            fields |= {"page": page.number, "page_label": page.label}
            fields |= {"anchor": page.anchor} if page.anchor else {}
        return replace(self, **fields)


class QuotableUnit(NamedTuple):
    """Characters `start` to `end` of a text, which an answer can quote as a whole."""

    kind: UnitKind
    start: int
    end: int

    def trimmed(self, text: str) -> QuotableUnit:
        """Returns the unit without surrounding white space; code keeps the indentation of its first line."""
        words = text[self.start : self.end].rstrip()
        blank = len(words) - len(words.lstrip())
        if self.kind == "code":
            blank = words.rfind("\n", 0, blank) + 1
        return self._replace(start=self.start + blank, end=self.start + len(words))


def find_cells(text: str, start: int, end: int, markup: Iterable[MarkupSpan]) -> Iterator[tuple[int, int]]:
    """Yields where the cells of the row at `start` to `end` begin and end; a bar in code or a formula ends none."""
    verbatim = [span for span in markup if span.kind in ("inline_code", "inline_formula")]
    for found in _CELL_BORDER.finditer(text, start, end):
        if not any(span.start <= found.start() < span.end for span in verbatim):
            yield start, found.start()
            start = found.end()
    yield start, end


@dataclass(frozen=True, slots=True)
class Chunk:
    """A contiguous part of one page's visible text, small enough to embed.

    `place` is where it begins; `page_breaks` are the printed pages that begin inside it. `cut_start` and
    `cut_end` say that its first unit begins in the chunk before it, and its last ends in the next one. `offset` is
    where it begins in the visible text of its page; `markup` has the spans of that text that touch it, as a whole.
    """

    id: str
    text: str
    place: Place
    position: int
    spans: tuple[SourceSpan, ...] = field(repr=False, default=())
    units: tuple[QuotableUnit, ...] = field(repr=False, default=())
    cut_start: bool = False
    cut_end: bool = False
    page_breaks: tuple[PageBreak, ...] = field(repr=False, default=())
    offset: int = 0
    markup: tuple[MarkupSpan, ...] = field(repr=False, default=())

    @property
    def embedding_text(self) -> str:
        """Returns the heading path, without its outer names if it is too long, followed by the text."""
        names = self.place.heading_path
        while len(names) > 1 and len(" > ".join(names).encode()) > MAX_HEADING_PATH_BYTES:
            names = names[1:]
        path = " > ".join(names).encode()[:MAX_HEADING_PATH_BYTES].decode(errors="ignore")
        return f"{path}\n{self.text}"

    @property
    def hash(self) -> str:
        return hashlib.sha256(self.text.encode()).hexdigest()

    def source_span(self, start: int, end: int) -> tuple[int, int]:
        """Returns the span in the source file of characters `start` to `end` of this chunk."""
        return find_source_span(self.spans, start, end)

    def split_row(self, row: QuotableUnit) -> tuple[str, ...]:
        """Returns the cells of a row of a table."""
        markup = (span._replace(start=span.start - self.offset, end=span.end - self.offset) for span in self.markup)
        cells = find_cells(self.text, row.start, row.end, markup)
        return tuple(self.text[slice(*cell)].strip() for cell in cells)

    def place_of(self, start: int, end: int) -> Place:
        """Returns the place of characters `start` to `end` of this chunk; its printed page is that of the first one."""
        first, last = self.source_span(start, end)
        return self.place.on_page(self.page_breaks, start, start=first, end=last)


@dataclass(frozen=True, slots=True)
class Passage:
    """A chunk that a search returned, with its cosine similarity to the question, from 0 to 1."""

    chunk: Chunk
    score: float


@dataclass(frozen=True)
class ChunkLayout:
    """The units of a chunk by number; units without a blank line between them are a block."""

    chunk: Chunk

    @cached_property
    def units(self) -> tuple[QuotableUnit, ...]:
        """The units of the index; a text that has none is one sentence."""
        return self.chunk.units or (QuotableUnit("sentence", 0, len(self.chunk.text)),)

    def __len__(self) -> int:
        return len(self.units)

    def words(self, at: int) -> str:
        return self.chunk.text[self.units[at].start : self.units[at].end]

    def kind(self, at: int) -> str:
        """Returns the kind of a unit, or an empty text if there is no such unit."""
        return self.units[at].kind if 0 <= at < len(self) else ""

    def touched(self, start: int, end: int) -> list[int]:
        """Returns the units that contain any of the characters `start` to `end`."""
        return [at for at, unit in enumerate(self.units) if unit.start < end and unit.end > start]

    def follows(self, at: int) -> bool:
        """Returns whether a unit is in the same block as the unit before it."""
        if not 0 < at < len(self):
            return False
        return not _BLANK_LINE.search(self.chunk.text, self.units[at - 1].end, self.units[at].start)

    def block(self, at: int) -> range:
        return _find_run(at, self.follows)

    def listed(self, at: int) -> range:
        """Returns the whole list of a unit without its introduction, or an empty range."""
        first = next((other for other in self.block(at) if self.kind(other) == "item"), at + 1)
        return range(first, self.block(at).stop) if first <= at else range(0)

    def item(self, at: int) -> range:
        """Returns the units from the head of a list item to this unit."""
        heads = [other for other in self.listed(at) if other <= at and self.kind(other) == "item"]
        return range(heads[-1] if heads else at, at + 1)

    def whole_item(self, at: int) -> range:
        """Returns all units of the list item that contains a unit, or the unit alone."""
        heads = [other for other in self.listed(at) if self.kind(other) == "item"]
        after = next((head for head in heads if head > at), self.listed(at).stop if heads else at + 1)
        return range(self.item(at).start, after)

    def table(self, at: int) -> range:
        """Returns the consecutive rows around a row."""
        return _find_run(at, self._continues_table)

    def names_columns(self, at: int) -> bool:
        """Returns whether a row names the columns of a table; at the start of a chunk it may be an ordinary row."""
        if self._continues_table(at) or not self._continues_table(at + 1):
            return False
        cells, below = map(self.chunk.split_row, self.units[at : at + 2])
        has_corner = not cells[0] and bool(below[0])  # the column of row names has no name
        if at > 0 or has_corner:
            return True
        return not any(len(cell) > MAX_COLUMN_NAME_CHARACTERS or re.search(r"^\W*\d|\.$", cell) for cell in cells)

    def _continues_table(self, at: int) -> bool:
        return self.kind(at) == self.kind(at - 1) == "row" and self.follows(at)

    def is_label(self, at: int) -> bool:
        """Returns whether a unit heads what follows and says nothing itself: a heading, the title of a note."""
        if self.kind(at) == "heading":
            return True
        words = self.words(at)
        is_alone = self.kind(at) == "sentence" and len(self.block(at)) == 1 and self.kind(at + 1) not in ("", "formula")
        is_short = len(words) <= MAX_LABEL_CHARACTERS and (words[-1].isalnum() or words[-1] == ")")
        return is_alone and is_short and not re.search(r"\s[:|–—-]\s|: ", words)

    def is_cut(self, at: int) -> bool:
        """Returns whether a unit is half a sentence, whose other half is in the chunk before or after."""
        return (at == 0 and self.chunk.cut_start) or (at == len(self) - 1 and self.chunk.cut_end)

    def is_diagram(self, at: int) -> bool:
        """Returns whether a unit is the source of a diagram, which a reader sees as a picture."""
        return self.kind(at) == "code" and bool(_DIAGRAM.match(self.words(at)))

    def is_short(self, run: range) -> bool:
        return len(run) <= MAX_WHOLE_UNITS and sum(len(self.words(at)) for at in run) <= MAX_WHOLE_CHARACTERS

    def stretches(self, chosen: Iterable[int]) -> Iterator[range]:
        """Yields what is quoted in one piece: adjacent items or rows, a label with what it heads, else one unit."""
        run: list[int] = []
        for at in sorted(chosen):
            if run and not (at == run[-1] + 1 and self._continues(at)):
                yield range(run[0], run[-1] + 1)
                run = []
            run.append(at)
        if run:
            yield range(run[0], run[-1] + 1)

    def _continues(self, at: int) -> bool:
        rows = self.kind(at) == self.kind(at - 1) == "row"
        together = self.follows(at) and (rows or at - 1 in self.listed(at))
        return together or self.is_label(at - 1)


def _find_run(at: int, continues: Callable[[int], bool]) -> range:
    """Returns the longest run of numbers around one of them in which each but the first continues the one before."""
    first, last = at, at
    while continues(first):
        first -= 1
    while continues(last + 1):
        last += 1
    return range(first, last + 1)
