"""Defines a parsed book: its pages, their blocks, and where each character of visible text comes from."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, NamedTuple

BlockKind = Literal[
    "heading", "paragraph", "code", "table", "row", "list", "item", "admonition", "formula", "definition"
]


class SourceSpan(NamedTuple):
    """`length` characters of visible text from `at` on stand at `start` to `end` of the source."""

    at: int
    length: int
    start: int
    end: int


def find_source_span(runs: tuple[SourceSpan, ...], start: int, end: int) -> tuple[int, int]:
    """The span of the source that holds visible characters `start` to `end`."""
    touched = [run for run in runs if run.at < end and run.at + run.length > start]
    if not touched:
        after = next((run.start for run in runs if run.at >= start), runs[-1].end if runs else 0)
        return after, after
    first, last = touched[0], touched[-1]
    return _to_source_offset(first, start, first.start), _to_source_offset(last, end, last.end)


def _to_source_offset(run: SourceSpan, at: int, edge: int) -> int:
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


class PageBreak(NamedTuple):
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
    runs: tuple[SourceSpan, ...] = field(repr=False)
    blocks: tuple[Block, ...] = field(repr=False)
    leaves: tuple[PageBreak, ...] = field(repr=False, default=())


class SourceNotice(NamedTuple):
    """Something about a file that whoever indexes the book should know; `lost` says that words of the book are missing.

    What an author left out on purpose is not lost.
    """

    file: str
    message: str
    lost: bool = False


@dataclass(frozen=True, slots=True)
class ParsedBook:
    """A book as its reader found it: pages in reading order, and what was odd about the files.

    `maps` are the files in which the generator of a built site lists its pages, where those were used. `beside` are
    files that were read too, though they do not stand among those of the source, named from there. `changing` says that
    it may come out otherwise later though no file changes.
    """

    title: str
    kind: str
    pages: tuple[Page, ...]
    notices: tuple[SourceNotice, ...] = ()
    maps: tuple[str, ...] = ()
    beside: tuple[str, ...] = ()
    changing: bool = False
