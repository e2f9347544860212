"""Where the entries of a PDF's outline stand in its text."""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Sequence
from typing import NamedTuple

from bookbound.read.pdf.folio import Entry
from bookbound.read.pdf.lines import Line
from bookbound.read.pdf.titles import Title, key

_MOST_LOOKED_AT = 200


class Mark(NamedTuple):
    """From line `at` on, the text stands under this title of the outline; `heading` where the page shows it."""

    at: int
    level: int
    name: str
    heading: Title | None = None


def marks(
    outline: Sequence[Entry], lines: Sequence[Line], found: Sequence[Title], heights: Sequence[float]
) -> list[Mark]:
    """The entries of the outline at their places, in reading order.

    Some programs let every entry name one and the same page: then only the words of the headings tell.
    """
    named = [entry for entry in outline if entry.title.strip()]
    pages = {entry.page for entry in named if entry.page >= 0}
    if 2 * len(pages) > len(named) or (len(pages) == len(heights) and pages):
        return sorted(_by_page(named, lines, found, heights), key=lambda mark: mark.at)
    return _by_words(named, found)


def _by_page(named: list[Entry], lines: Sequence[Line], found: Sequence[Title], heights: Sequence[float]) -> list[Mark]:
    starts = [bisect_left(lines, number, key=lambda line: line.page) for number in range(1, len(heights) + 2)]
    by_start = {title.start: title for title in found}
    placed = []
    for entry in named:
        if not 0 <= entry.page < len(heights) or starts[entry.page] == len(lines):
            continue
        start, end = starts[entry.page : entry.page + 2]
        on_page = range(start, min(end, start + _MOST_LOOKED_AT))
        down = heights[entry.page] - entry.height if entry.height >= 0 else 0.0
        alike = [at for at in on_page if _is_alike(_shown(by_start, lines, at), entry.title)]
        if alike:
            at = min(alike, key=lambda at: abs(lines[at].base - down))
            title = by_start.get(at) or Title(at, at + 1, lines[at].text, lines[at].size)
            placed.append(Mark(at, entry.depth + 1, entry.title, title._replace(level=entry.depth + 1)))
        else:
            at = next((at for at in on_page if lines[at].base >= down), on_page.stop)
            placed.append(Mark(min(at, len(lines) - 1), entry.depth + 1, entry.title))
    return placed


def _shown(by_start: dict[int, Title], lines: Sequence[Line], at: int) -> str:
    return by_start[at].text if at in by_start else lines[at].text


def _by_words(named: list[Entry], found: Sequence[Title]) -> list[Mark]:
    """The most entries that can be given headings of their words in the order of both."""
    by_word: dict[str, list[int]] = defaultdict(list)
    for i, title in enumerate(found):
        by_word[key(title.text).partition(" ")[0]].append(i)
    alike = [_alike(entry, found, by_word[key(entry.title).partition(" ")[0]]) for entry in named]
    # The longest chain of headings that go on: `last` ends the best one of each length.
    last: list[_Link] = []
    for entry, candidates in zip(named, alike, strict=True):
        for number in reversed(candidates):
            length = bisect_left(last, number, key=lambda link: link.number)
            last[length : length + 1] = [_Link(number, entry, last[length - 1] if length else None)]
    placed: list[Mark] = []
    link = last[-1] if last else None
    while link:
        heading = found[link.number]._replace(level=link.entry.depth + 1)
        placed.append(Mark(heading.start, heading.level, link.entry.title, heading))
        link = link.before
    return placed[::-1]


class _Link(NamedTuple):
    """An entry that takes a heading, after another that takes an earlier one."""

    number: int
    entry: Entry
    before: _Link | None


def _alike(entry: Entry, found: Sequence[Title], candidates: Sequence[int]) -> list[int]:
    return [i for i in candidates[:_MOST_LOOKED_AT] if _is_alike(found[i].text, entry.title)]


def _is_alike(shown: str, title: str) -> bool:
    """Whether a heading says a title, and perhaps more after it."""
    return bool(key(title)) and f"{key(shown)} ".startswith(f"{key(title)} ")
