"""Finds the places on a MyST page that show the numbers of headings, figures, tables and formulas."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from bookbound.sources.includes import Substitution
from bookbound.sources.myst.directives import DirectiveOptions
from bookbound.sources.page_builder import CharSpan, RenderedPage
from bookbound.sources.rst.page_draft import Outline, OutlineItem, OutlineKind, TitleLookup
from bookbound.sources.slugs import docutils_id

_FIGURE_DIRECTIVES = frozenset(("figure", "figure-md"))
_TABLE_DIRECTIVES = frozenset(("table", "list-table", "csv-table"))
_CAPTIONED_CODE_DIRECTIVES = frozenset(("code", "code-block", "sourcecode", "literalinclude", "code-cell"))
_IMAGE_LINE = re.compile(r"[ \t>]*(?:!\[|<img\b)")


class NumberSlot(NamedTuple):
    """A place where the number of a thing is set, or where pages are listed; the thing's id, names and caption."""

    kind: OutlineKind
    at: int
    id: str = ""
    names: tuple[str, ...] = ()
    title: str = ""


def find_number_slot(
    source: str, directive: str, argument: CharSpan, options: DirectiveOptions, labels: list[str]
) -> NumberSlot | None:
    """Where the number is set of what a directive makes: before its caption; nothing where it has none."""
    name = options.text("name") or (source[slice(*argument)] if directive == "figure-md" else "")
    kind: OutlineKind | None = None
    span: CharSpan | None = None
    if directive in _FIGURE_DIRECTIVES:
        kind, span = "figure", _find_caption(source, options.body)
    elif directive in _TABLE_DIRECTIVES:
        kind, span = "table", argument if argument[0] < argument[1] else None
    elif directive in _CAPTIONED_CODE_DIRECTIVES:
        told = options.text("caption")
        kind, span = "code-block", next((each for each in options.shown if source[slice(*each)] == told), None)
    if not kind or not span:
        return None
    names = dict.fromkeys((*labels, *filter(None, [" ".join(name.lower().split())])))
    return NumberSlot(kind, span[0], docutils_id(name) or f"numbered-{span[0]}", tuple(names), source[slice(*span)])


def _find_caption(source: str, body: int) -> CharSpan | None:
    """The first line of words below a picture, as the body of a figure begins with them; nothing for other lines."""
    at = body
    while at < len(source):
        end = source.find("\n", at)
        end = end if end >= 0 else len(source)
        line = source[at:end]
        if line.strip(" \t>") and not _IMAGE_LINE.match(line):
            start = at + len(line) - len(line.lstrip(" \t>"))
            return None if line.lstrip(" \t>")[:3] in ("```", ":::", "~~~", "+++") else (start, end)
        at = end + 1
    return None


def find_heading_slots(setting: RenderedPage) -> list[NumberSlot]:
    """Where the headings of a page that is set stand in its source."""
    places = [run.at for run in setting.runs]
    found, levels = [], list[int]()
    for block in setting.blocks:
        if block.kind == "heading":
            levels = [level for level in levels if level < block.level] + [block.level]
            run = setting.runs[bisect_right(places, block.start) - 1]
            at = run.start + (block.start - run.at) * (run.end - run.start == run.length)
            found.append(
                NumberSlot("section", at, block.anchor, (str(len(levels)),), setting.text[block.start : block.end])
            )
    return found


def outline_myst(tops: Sequence[NumberSlot], spots: Iterable[NumberSlot]) -> Outline:
    """All that may get a number, in the order of the page; the names of a heading are how deep it stands."""
    starts = [top.at for top in tops]
    marks = []
    for spot in sorted((*tops, *spots), key=lambda one: one.at):
        above = bisect_left(starts, spot.at)
        level = int(spot.names[0]) if spot.kind == "section" else int(tops[above - 1].names[0]) if above else 0
        marks.append(OutlineItem(spot.kind, level, (spot.id,), spot.title))
    return tuple(marks)


def insert_numbers(spots: Iterable[NumberSlot], titles: TitleLookup) -> Iterator[Substitution]:
    """What is set for the numbers of things before their titles, and after formulas."""
    for spot in spots:
        shown = titles("number", spot.id) if spot.id and spot.kind != "toctree" else None
        if shown and spot.kind == "displaymath":
            yield Substitution(spot.at, spot.at, f"\n\n{shown}\n\n")
        elif shown:
            # Unescaped, a number before a heading that is underlined would begin a list.
            yield Substitution(spot.at, spot.at, shown.rstrip().replace(".", "\\.") + " ")


def collect_slot_targets(spots: Iterable[NumberSlot]) -> dict[str, str]:
    """The ids that the names of things, and the labels of formulas, lead to."""
    return {name: spot.id for spot in spots for name in (*spot.names, *[spot.id] * (spot.kind == "displaymath"))}


def collect_slot_captions(spots: Iterable[NumberSlot]) -> dict[str, str]:
    """What is shown for the names of things."""
    return {name: spot.title for spot in spots for name in spot.names}
