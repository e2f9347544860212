"""Which passages come first: those that were read as answering."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from bookbound.dialogue import SELECTION_ID, Question, Retrieval
from bookbound.finding import Examination, Reading


def ordered(question: Question, retrieval: Retrieval, examination: Examination) -> tuple[Retrieval, Examination]:
    """The best passages for a question as they were read, as many as it asks for, with their readings.

    A selection stays in front of them. A question of several parts has the best for each part before the second best.
    """
    found = [i for i, passage in enumerate(retrieval.passages) if passage.chunk.id != SELECTION_ID]
    first = [i for i in range(len(retrieval.passages)) if i not in found]
    ranks = [_ranks(examination.readings, found, part) for part in range(len(examination.parts))]
    whole = _ranks(examination.readings, found)
    best = sorted(found, key=lambda i: (min((rank[i] for rank in ranks), default=0), whole[i]))
    kept = [*first, *best[: question.k]]
    return (
        replace(retrieval, passages=tuple(retrieval.passages[i] for i in kept)),
        replace(examination, readings=tuple(examination.readings[i] for i in kept)),
    )


def _ranks(readings: Sequence[Reading], found: Sequence[int], part: int | None = None) -> dict[int, int]:
    """The place of each passage in the order of what was read in it, for the question or for one part of it."""
    return {i: rank for rank, i in enumerate(sorted(found, key=lambda i: -_answers(readings[i], part)))}


def _answers(reading: Reading, part: int | None) -> float:
    if part is None:
        return reading.probability
    return max((span.probability for span in reading.spans if span.part == part), default=0.0)
