"""Where on a page of MyST Markdown numbers may be set."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from bookbound.read.galley import Setting, Span
from bookbound.read.headings import identifier
from bookbound.read.myst.options import Options
from bookbound.read.sphinx.draft import Titles
from bookbound.read.sphinx.outline import Counted, Mark, Outline
from bookbound.read.woven import Swap

_FIGURES = frozenset(("figure", "figure-md"))
_TABLES = frozenset(("table", "list-table", "csv-table"))
_CODE = frozenset(("code", "code-block", "sourcecode", "literalinclude", "code-cell"))
_PICTURE = re.compile(r"[ \t>]*(?:!\[|<img\b)")


class Spot(NamedTuple):
    """A place where the number of a thing is set, or where pages are listed; the thing's id, names and caption."""

    kind: Counted
    at: int
    id: str = ""
    names: tuple[str, ...] = ()
    title: str = ""


def spot_of(source: str, directive: str, argument: Span, options: Options, labels: list[str]) -> Spot | None:
    """Where the number is set of what a directive makes: before its caption; nothing where it has none."""
    name = options.text("name") or (source[slice(*argument)] if directive == "figure-md" else "")
    kind: Counted | None = None
    span: Span | None = None
    if directive in _FIGURES:
        kind, span = "figure", _caption(source, options.body)
    elif directive in _TABLES:
        kind, span = "table", argument if argument[0] < argument[1] else None
    elif directive in _CODE:
        told = options.text("caption")
        kind, span = "code-block", next((each for each in options.shown if source[slice(*each)] == told), None)
    if not kind or not span:
        return None
    names = dict.fromkeys((*labels, *filter(None, [" ".join(name.lower().split())])))
    return Spot(kind, span[0], identifier(name) or f"numbered-{span[0]}", tuple(names), source[slice(*span)])


def _caption(source: str, body: int) -> Span | None:
    """The first line of words below a picture, as the body of a figure begins with them; nothing for other lines."""
    at = body
    while at < len(source):
        end = source.find("\n", at)
        end = end if end >= 0 else len(source)
        line = source[at:end]
        if line.strip(" \t>") and not _PICTURE.match(line):
            start = at + len(line) - len(line.lstrip(" \t>"))
            return None if line.lstrip(" \t>")[:3] in ("```", ":::", "~~~", "+++") else (start, end)
        at = end + 1
    return None


def headings(setting: Setting) -> list[Spot]:
    """Where the headings of a page that is set stand in its source."""
    places = [run.at for run in setting.runs]
    found, levels = [], list[int]()
    for block in setting.blocks:
        if block.kind == "heading":
            levels = [level for level in levels if level < block.level] + [block.level]
            run = setting.runs[bisect_right(places, block.start) - 1]
            at = run.start + (block.start - run.at) * (run.end - run.start == run.length)
            found.append(Spot("section", at, block.anchor, (str(len(levels)),), setting.text[block.start : block.end]))
    return found


def outline(tops: Sequence[Spot], spots: Iterable[Spot]) -> Outline:
    """All that may get a number, in the order of the page; the names of a heading are how deep it stands."""
    starts = [top.at for top in tops]
    marks = []
    for spot in sorted((*tops, *spots), key=lambda one: one.at):
        above = bisect_left(starts, spot.at)
        level = int(spot.names[0]) if spot.kind == "section" else int(tops[above - 1].names[0]) if above else 0
        marks.append(Mark(spot.kind, level, (spot.id,), spot.title))
    return tuple(marks)


def numbers(spots: Iterable[Spot], titles: Titles) -> Iterator[Swap]:
    """What is set for the numbers of things before their titles, and after formulas."""
    for spot in spots:
        shown = titles("number", spot.id) if spot.id and spot.kind != "toctree" else None
        if shown and spot.kind == "displaymath":
            yield Swap(spot.at, spot.at, f"\n\n{shown}\n\n")
        elif shown:
            # Unescaped, a number before a heading that is underlined would begin a list.
            yield Swap(spot.at, spot.at, shown.rstrip().replace(".", "\\.") + " ")


def targets(spots: Iterable[Spot]) -> dict[str, str]:
    """The ids that the names of things, and the labels of formulas, lead to."""
    return {name: spot.id for spot in spots for name in (*spot.names, *[spot.id] * (spot.kind == "displaymath"))}


def captions(spots: Iterable[Spot]) -> dict[str, str]:
    """What is shown for the names of things."""
    return {name: spot.title for spot in spots for name in spot.names}
