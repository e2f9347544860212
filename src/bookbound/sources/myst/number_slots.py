"""Finds the places on a MyST page that show the numbers of headings, figures, tables and formulas."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from bookbound.sources.includes import Substitution
from bookbound.sources.myst.directives import DirectiveOptions, find_line_end
from bookbound.sources.page_builder import CharSpan, RenderedPage
from bookbound.sources.rst.page_draft import Outline, OutlineItem, OutlineKind, References
from bookbound.sources.slugs import docutils_id

_CAPTIONED_CODE_DIRECTIVES = frozenset(("code", "code-block", "sourcecode", "literalinclude", "code-cell"))
_IMAGE_LINE = re.compile(r"!\[|<img\b")


class NumberSlot(NamedTuple):
    """The place before a title or after a formula that shows its number, or the place of a toctree."""

    kind: OutlineKind
    at: int
    id: str = ""
    names: tuple[str, ...] = ()
    title: str = ""
    level: int = 0


def find_number_slot(
    source: str, directive: str, argument: CharSpan, options: DirectiveOptions, labels: list[str]
) -> NumberSlot | None:
    """Find the caption of a directive; return None if it has none."""
    name = options.text("name") or (source[slice(*argument)] if directive == "figure-md" else "")
    kind: OutlineKind
    if directive in ("figure", "figure-md"):
        kind, span = "figure", _find_caption(source, options.body)
    elif directive in ("table", "list-table", "csv-table"):
        kind, span = "table", argument if argument[0] < argument[1] else None
    elif directive in _CAPTIONED_CODE_DIRECTIVES:
        caption = options.text("caption")
        kind, span = "code-block", next((shown for shown in options.shown if source[slice(*shown)] == caption), None)
    else:
        return None
    if not span:
        return None
    names = dict.fromkeys((*labels, *filter(None, [" ".join(name.lower().split())])))
    return NumberSlot(kind, span[0], docutils_id(name) or f"numbered-{span[0]}", tuple(names), source[slice(*span)])


def _find_caption(source: str, at: int) -> CharSpan | None:
    """Find the first line of text below a picture; return None if a directive comes first."""
    while at < len(source):
        end = find_line_end(source, at)
        text = source[at:end].lstrip(" \t>")
        if text and not _IMAGE_LINE.match(text):
            return None if text[:3] in ("```", ":::", "~~~", "+++") else (end - len(text), end)
        at = end + 1
    return None


def find_heading_slots(page: RenderedPage) -> list[NumberSlot]:
    """Find the headings of a rendered page in its source."""
    starts = [span.at for span in page.spans]
    slots, levels = [], list[int]()
    for block in page.blocks:
        if block.kind == "heading":
            levels = [level for level in levels if level < block.level] + [block.level]
            span = page.spans[bisect_right(starts, block.start) - 1]
            at = span.start + (block.start - span.at) * (span.end - span.start == span.length)
            title = page.text[block.start : block.end]
            slots.append(NumberSlot("section", at, block.anchor, title=title, level=len(levels)))
    return slots


def outline_myst(headings: Sequence[NumberSlot], slots: Iterable[NumberSlot]) -> Outline:
    """List everything that can have a number in the order of the page."""
    starts = [heading.at for heading in headings]
    items = []
    for slot in sorted((*headings, *slots), key=lambda slot: slot.at):
        before = bisect_left(starts, slot.at)
        level = slot.level if slot.kind == "section" else headings[before - 1].level if before else 0
        items.append(OutlineItem(slot.kind, level, (slot.id,), slot.title))
    return tuple(items)


def insert_numbers(slots: Iterable[NumberSlot], references: References) -> Iterator[Substitution]:
    """Insert numbers before titles and after formulas."""
    for slot in slots:
        number = references.number(slot.id) if slot.id and slot.kind != "toctree" else ""
        if number and slot.kind == "displaymath":
            yield Substitution(slot.at, slot.at, f"\n\n{number}\n\n")
        elif number:
            # Without the backslash, a number before an underlined heading would begin a list.
            yield Substitution(slot.at, slot.at, number.rstrip().replace(".", "\\.") + " ")
