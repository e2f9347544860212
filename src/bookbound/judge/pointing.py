"""Questions that name nothing of their own: they mean the selection, or nothing that can be looked for."""

from __future__ import annotations

from collections.abc import Sequence

from bookbound.book import Passage
from bookbound.dialogue import SELECTION_ID
from bookbound.finding import Examination, Reading, Span
from bookbound.words import points, terms

SPANS, NO_OPINION = 4, 0.4


def pointed(question: str, passages: Sequence[Passage]) -> Examination | None:
    """What such a question comes to, or None where there is something to read for.

    "Explain this" can only mean the whole of a selection, which then is its own answer.
    """
    if points(question) and any(passage.chunk.id == SELECTION_ID for passage in passages):
        return Examination(1.0, tuple(_whole(passage) for passage in passages))
    return None if terms(question) and passages else Examination(0.0, tuple(Reading(0.0) for _ in passages))


def similarity(passage: Passage) -> float:
    """The cosine that was measured; a selection's score is given, so its words alone must speak for it."""
    return NO_OPINION if passage.chunk.id == SELECTION_ID else passage.score


def _whole(passage: Passage) -> Reading:
    meant = float(passage.chunk.id == SELECTION_ID)
    units = [unit for unit in passage.chunk.units if unit.kind != "heading"]
    return Reading(meant, tuple(Span(unit.start, unit.end, meant) for unit in units[:SPANS]))
