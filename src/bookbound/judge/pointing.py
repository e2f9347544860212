"""Questions that name nothing of their own: they mean the selection, or nothing that can be looked for."""

from __future__ import annotations

from collections.abc import Sequence

from bookbound.book import Passage
from bookbound.dialogue import SELECTION_ID
from bookbound.finding import Examination, Reading, Span
from bookbound.words import points, terms

SPANS, NO_OPINION = 4, 0.4


def places(passages: Sequence[Passage]) -> list[int | None]:
    """How far down the search had each passage, counted from 0; a selection has no place, nobody searched for it."""
    found = [passage.chunk.id != SELECTION_ID for passage in passages]
    return [sum(found[:i]) if searched else None for i, searched in enumerate(found)]


def pointed(question: str, passages: Sequence[Passage]) -> Examination | None:
    """What such a question comes to, or None where there is something to read for.

    "Explain this" can only mean the whole of a selection, which then is its own answer, if it says anything.
    """
    selected = [passage.chunk.text for passage in passages if passage.chunk.id == SELECTION_ID]
    points_at = selected if points(question) else []
    if any(map(terms, points_at)):
        return Examination(1.0, tuple(_whole(passage) for passage in passages))
    names_something = terms(question) and passages and not points_at
    return None if names_something else Examination(0.0, tuple(Reading(0.0) for _ in passages))


def similarity(passage: Passage) -> float:
    """The cosine that was measured; a selection's score is given, so its words alone must speak for it."""
    return NO_OPINION if passage.chunk.id == SELECTION_ID else passage.score


def _whole(passage: Passage) -> Reading:
    meant = float(passage.chunk.id == SELECTION_ID)
    units = [unit for unit in passage.chunk.units if unit.kind != "heading"]
    return Reading(meant, tuple(Span(unit.start, unit.end, meant) for unit in units[:SPANS]))
