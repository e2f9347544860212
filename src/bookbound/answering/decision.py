"""Ranks the passages that were read and decides whether they answer the question."""

from __future__ import annotations

from collections.abc import Sequence, Set
from dataclasses import replace

from bookbound.answering.operating_point import OperatingPoint
from bookbound.domain.chunk import Passage
from bookbound.domain.judgement import (
    Assessment,
    Evidence,
    Judgement,
    PassageAssessment,
    RefusalReason,
    RetrievalQuality,
)
from bookbound.domain.question import SELECTION_CHUNK_ID, AnswerScope, Question, Retrieval

MAX_EVIDENCE = 8


def decide(question: Question, retrieval: Retrieval, examination: Assessment, point: OperatingPoint) -> Judgement:
    """Whether the passages answer, which of them matter, and the words of the book that say so.

    A question of several parts is answered where any of them is, and in part where another is not: then only the words
    for what is answered are evidence.
    """
    read = list(zip(retrieval.passages, examination.readings, strict=True))
    relevant = [(passage, reading) for passage, reading in read if reading.probability >= point.relevant]
    probability = max(examination.probability, *examination.parts, 0.0)
    refusal = _choose_refusal(question, retrieval.passages, bool(relevant), probability >= point.offered)
    said = {part for part, chance in enumerate(examination.parts) if chance >= point.offered}
    # Where no part reaches the point by itself, it is the question as a whole that does.
    partial = refusal is None and 0 < len(said) < len(examination.parts)
    mean = sum(reading.probability for _, reading in relevant) / len(relevant) if relevant else 0.0
    return Judgement(
        probability=probability,
        relevant=tuple(passage.chunk.id for passage, _ in relevant),
        evidence=tuple(_collect_evidence(relevant, said if partial else None)),
        quality=_rate_quality(len(relevant), mean, refusal is None),
        refusal=refusal,
        partial=partial,
        sure=probability >= point.answered,
    )


def _choose_refusal(
    question: Question, passages: Sequence[Passage], relevant: bool, answered: bool
) -> RefusalReason | None:
    if not passages:
        return RefusalReason.EMPTY_RETRIEVAL
    if question.scope is AnswerScope.SELECTION:
        return None if relevant and answered else RefusalReason.SELECTED_TEXT_MISSING
    # A selection's score is given, not measured: what is compared with the threshold is the book's own.
    best = max((passage.score for passage in passages if passage.chunk.id != SELECTION_CHUNK_ID), default=0.0)
    # Whoever gives a threshold says with it what low relevance is; otherwise the examiner does.
    if best < question.threshold or not (relevant or question.threshold):
        return RefusalReason.LOW_RELEVANCE
    if relevant and answered:
        return None
    return RefusalReason.INSUFFICIENT_GROUNDING


def _rate_quality(relevant: int, mean: float, answered: bool) -> RetrievalQuality:
    if relevant >= 2 and answered and mean >= 0.6:
        return "Good"
    return "Poor" if not relevant or mean < 0.3 else "Partial"


def _collect_evidence(relevant: Sequence[tuple[Passage, PassageAssessment]], parts: Set[int] | None) -> list[Evidence]:
    """The likeliest words of the relevant passages, verbatim, best first; the best for each part is among them."""
    found = [
        Evidence.of(passage, span.start, span.end, span.probability, span.part)
        for passage, reading in relevant
        for span in reading.spans
        if parts is None or span.part in parts
    ]
    found.sort(key=lambda evidence: -evidence.probability)
    best = {evidence.part: evidence for evidence in reversed(found)}.values()
    found.sort(key=lambda evidence: evidence not in best)
    return sorted(found[:MAX_EVIDENCE], key=lambda evidence: -evidence.probability)


def rank_passages(question: Question, retrieval: Retrieval, examination: Assessment) -> tuple[Retrieval, Assessment]:
    """The best passages for a question as they were read, as many as it asks for, with their readings.

    A selection stays in front of them. A question of several parts has the best for each part before the second best.
    """
    found = [i for i, passage in enumerate(retrieval.passages) if passage.chunk.id != SELECTION_CHUNK_ID]
    first = [i for i in range(len(retrieval.passages)) if i not in found]
    ranks = [_rank_by_probability(examination.readings, found, part) for part in range(len(examination.parts))]
    whole = _rank_by_probability(examination.readings, found)
    best = sorted(found, key=lambda i: (min((rank[i] for rank in ranks), default=0), whole[i]))
    kept = [*first, *best[: question.k]]
    return (
        replace(retrieval, passages=tuple(retrieval.passages[i] for i in kept)),
        replace(examination, readings=tuple(examination.readings[i] for i in kept)),
    )


def _rank_by_probability(
    readings: Sequence[PassageAssessment], found: Sequence[int], part: int | None = None
) -> dict[int, int]:
    """The place of each passage in the order of what was read in it, for the question or for one part of it."""
    return {i: rank for rank, i in enumerate(sorted(found, key=lambda i: -_answer_probability(readings[i], part)))}


def _answer_probability(reading: PassageAssessment, part: int | None) -> float:
    if part is None:
        return reading.probability
    return max((span.probability for span in reading.spans if span.part == part), default=0.0)
