"""Defines chunks, their places in the book, and the passages that a search returns."""

from __future__ import annotations

import hashlib
import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, NamedTuple

from bookbound.domain.document import MarkupSpan, PageBreak, SourceSpan, find_source_span, safe_url

UnitKind = Literal["sentence", "code", "row", "item", "formula", "heading"]
MAX_HEADING_PATH_BYTES = 160
"""Limits the embedded heading path, so that the text below it always has room.

The limit is in bytes because a token covers at least one byte, while one character may take several tokens.
"""


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


_CELL_BORDER = re.compile(r"(?<!\S)\|(?!\S)")


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
