"""Defines a parsed book: its pages, their blocks, and where each character of visible text comes from."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

BlockKind = Literal[
    "heading", "paragraph", "code", "table", "row", "list", "item", "admonition", "formula", "definition"
]


class SourceSpan(NamedTuple):
    """Maps `length` characters of visible text from `at` on to the characters `start` to `end` of the source.

    A span that is as long as its source is a verbatim copy.
    """

    at: int
    length: int
    start: int
    end: int

    @property
    def is_verbatim(self) -> bool:
        return self.end - self.start == self.length


def find_source_span(spans: tuple[SourceSpan, ...], start: int, end: int) -> tuple[int, int]:
    """Returns the part of the source that contains the visible characters `start` to `end`."""
    touched = [span for span in spans if span.at < end and span.at + span.length > start]
    if not touched:
        after = next((span.start for span in spans if span.at >= start), spans[-1].end if spans else 0)
        return after, after
    first, last = touched[0], touched[-1]
    return _to_source_offset(first, start, first.start), _to_source_offset(last, end, last.end)


def _to_source_offset(span: SourceSpan, at: int, edge: int) -> int:
    return min(max(span.start + at - span.at, span.start), span.end) if span.is_verbatim else edge


InlineKind = Literal["inline_code", "inline_formula", "emphasis", "strong", "link", "quote", "picture"]


class MarkupSpan(NamedTuple):
    """Characters `start` to `end` of a page's visible text are a block, or are marked up inside one.

    `value` is the target of a link, the language of code, the variant of a block, or the name of a quotation that is an
    alert. A picture has no characters; its `value` is its address and its description, each on one line.
    """

    kind: BlockKind | InlineKind
    start: int
    end: int
    value: str = ""


@dataclass(frozen=True, slots=True)
class Block:
    """A part of a page's structure: a range of its visible text and the blocks inside it.

    `variant` is the language of code, the type of an admonition, `header` for a row that names columns, and `term` or
    `description` in a list of definitions.
    """

    kind: BlockKind
    start: int
    end: int
    level: int = 0
    anchor: str = ""
    children: tuple[Block, ...] = ()
    variant: str = ""


class PageBreak(NamedTuple):
    """The visible text from `at` on is on the printed page `number`, which shows `label`.

    If `anchor` is set, it opens that printed page and replaces the anchors of headings.
    """

    at: int
    number: int
    label: str = ""
    anchor: str = ""


def safe_url(url: str) -> str:
    """Return a web address or a path as it is, and nothing for an address of another kind, such as `javascript:`.

    Browsers ignore control characters and spaces in front of an address and line breaks in it.
    """
    address = re.sub(r"[\x00-\x20\x7f]+", "", url).lower()
    scheme = re.match(r"[a-z][a-z0-9+.-]*:", address)
    return url if not scheme or address.startswith(("http://", "https://")) else ""


@dataclass(frozen=True, slots=True)
class Page:
    """One page of a book: its source, its visible text and the positions of one in the other.

    `markup` is what is marked up inside blocks: code, emphasis, links and quotations, and where pictures are.
    """

    file: str
    url: str
    title: str
    chapter: str
    position: int
    source: str = field(repr=False)
    text: str = field(repr=False)
    spans: tuple[SourceSpan, ...] = field(repr=False)
    blocks: tuple[Block, ...] = field(repr=False)
    markup: tuple[MarkupSpan, ...] = field(repr=False, default=())
    page_breaks: tuple[PageBreak, ...] = field(repr=False, default=())

    def __post_init__(self) -> None:
        object.__setattr__(self, "url", safe_url(self.url))

    @property
    def page_count(self) -> int:
        """How many pages this is for a reader: one, or the pages of a PDF that it covers."""
        return len({each.number for each in self.page_breaks if each.anchor}) or 1


class SourceNotice(NamedTuple):
    """Something that the author of a file should know; `lost` says that words of the book are missing.

    Words that the author left out on purpose are not lost.
    """

    file: str
    message: str
    lost: bool = False


@dataclass(frozen=True, slots=True)
class ParsedBook:
    """A book's pages in reading order, and the notices about its files.

    `search_indexes` are the files in which a built site lists its pages, if they were used. `outside_files` were read
    though they are not part of the source; their paths are relative to it. `is_volatile` says that the book can change
    although no file changes. `printed_pages` is how many pages a PDF has, with or without words.
    """

    title: str
    kind: str
    pages: tuple[Page, ...]
    notices: tuple[SourceNotice, ...] = ()
    search_indexes: tuple[str, ...] = ()
    outside_files: tuple[str, ...] = ()
    is_volatile: bool = False
    printed_pages: int = 0

    @property
    def page_count(self) -> int:
        """How many pages this is for a reader."""
        return self.printed_pages or len(self.pages)
