"""What stands at the head and foot of every page and belongs to none: running titles and page numbers."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from itertools import pairwise

from bookbound.read.pdf.lines import Line

MOST_LINES, GAP, FEWEST, MOSTLY, SHARE = 3, 1.6, 3, 0.6, 0.3
_NUMBER = re.compile(r"\d+|\b[ivxlc]+\b", re.IGNORECASE)

Slot = tuple[bool, int, float]
"""Head or foot, how far down, and how large."""


def body(folios: Sequence[list[Line]]) -> list[list[Line]]:
    """The lines of each page without those that are repeated in one place of page after page."""
    slots: dict[Slot, list[tuple[int, Line]]] = defaultdict(list)
    for number, lines in enumerate(folios):
        for slot, line in _outermost(lines):
            slots[slot].append((number, line))
    running = {id(line) for slot in slots for line in _running(_near(slots, slot), len(folios))}
    return [[line for line in lines if id(line) not in running] for lines in folios]


def _outermost(lines: list[Line]) -> list[tuple[Slot, Line]]:
    """The lines at the edges of a page that a gap parts from the rest."""
    inward = sorted(lines, key=lambda line: line.base)
    found = []
    for head, order in ((True, inward), (False, inward[::-1])):
        edge = order[: MOST_LINES + 1]
        gaps = [i for i, (a, b) in enumerate(pairwise(edge), 1) if abs(b.base - a.base) > GAP * max(a.size, b.size)]
        found += [((head, round(line.base), line.size), line) for line in edge[: gaps[0] if gaps else 0]]
    return found


def _near(slots: dict[Slot, list[tuple[int, Line]]], slot: Slot) -> list[tuple[int, Line]]:
    """The lines of a slot, and of those a point above and below it."""
    head, height, size = slot
    return [each for nearby in (height - 1, height, height + 1) for each in slots.get((head, nearby, size), ())]


def _running(found: list[tuple[int, Line]], pages: int) -> Iterable[Line]:
    """The lines of one place where most of them are repeated: that is what the place is for.

    A line of the text stands at the same height on many pages too, but says something else on each.
    """
    says = Counter(_NUMBER.sub("#", line.text) for _, line in found)
    repeated = sum(count for count in says.values() if count > 1)
    over = len({page for page, _ in found})
    return [line for _, line in found] if over >= max(FEWEST, SHARE * pages) and repeated >= MOSTLY * len(found) else []
