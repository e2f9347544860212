"""Decides whether the passages that were read answer a question, and which of their words are the evidence."""

from __future__ import annotations

from collections.abc import Sequence, Set
from dataclasses import replace
from math import sqrt

from bookbound.answering.deciding.operating_point import OperatingPoint
from bookbound.domain.chunk import Passage
from bookbound.domain.judgement import (
    Assessment,
    Evidence,
    Judgement,
    PassageAssessment,
    RefusalReason,
    RetrievalQuality,
)
from bookbound.domain.question import SELECTION_CHUNK_ID, AnswerScope, Question, Retrieval, Understanding

MAX_EVIDENCE = 8
# How much an answer to only one part of a question is worth, chosen on the development sets.
PARTIAL_ANSWER_WEIGHT = 0.65
# The share of the answer threshold that a part needs to be shown with the others if the question is answered.
SHOWN_PART_SHARE = 0.5
UNSURE_REASONS = (RefusalReason.INSUFFICIENT_GROUNDING, RefusalReason.SELECTED_TEXT_MISSING)


def merge_part_readings(
    retrievals: Sequence[Retrieval], assessments: Sequence[Assessment]
) -> tuple[Retrieval, Assessment]:
    """Returns the passages of all parts, each once, with the words that answer each part.

    The question is answered if each part is, or in part if one part surely is. A single part is the whole question.
    """
    if len(assessments) == 1:
        return retrievals[0], assessments[0]
    is_off_topic = all(assessment.is_off_topic for assessment in assessments)
    passages: dict[str, Passage] = {}
    readings: dict[str, PassageAssessment] = {}
    for part, (retrieval, assessment) in enumerate(zip(retrievals, assessments, strict=True)):
        for passage, reading in zip(retrieval.passages, assessment.readings, strict=True):
            name = passage.chunk.id
            known = passages.get(name, passage)
            passages[name] = replace(known, score=max(known.score, passage.score))
            before = readings.get(name, PassageAssessment(0.0))
            spans = [*before.spans, *(replace(span, part=part) for span in reading.spans)]
            spans.sort(key=lambda span: -span.probability)
            readings[name] = PassageAssessment(max(before.probability, reading.probability), tuple(spans))
    chances = tuple(assessment.probability for assessment in assessments)
    # The parts are about one subject: if one is answered, another is likelier to be than by itself.
    probability = max(sqrt(min(chances) * max(chances)), PARTIAL_ANSWER_WEIGHT * max(chances))
    merged = replace(retrievals[0], passages=tuple(passages.values()))
    return merged, Assessment(probability, tuple(readings.values()), chances, is_off_topic)


def decide(
    understanding: Understanding, retrieval: Retrieval, assessment: Assessment, point: OperatingPoint
) -> Judgement:
    """Decides whether the passages answer, which of them are relevant, and which words are the evidence.

    If a part of the question surely is not answered, the answer is partial, and only the words for the other parts are
    evidence.
    """
    question, probability, unread_parts = understanding.question, assessment.probability, understanding.unread_parts
    is_in_selection = question.scope is AnswerScope.SELECTION
    read = list(zip(retrieval.passages, assessment.readings, strict=True))
    # The reader chose a selection, so no search has to prove that it is relevant.
    least = 0.0 if is_in_selection else point.relevance_threshold
    relevant = [(passage, reading) for passage, reading in read if reading.probability >= least]
    refusal = _choose_refusal(question, retrieval.passages, bool(relevant), probability >= point.answer_threshold)
    is_below_limit = not is_in_selection and _find_best_score(retrieval.passages) < question.threshold
    is_unsure = bool(relevant) and refusal in UNSURE_REASONS and probability >= point.unsure_threshold
    possible, shown = (
        {part for part, chance in enumerate(assessment.parts) if chance >= threshold}
        for threshold in (point.unsure_threshold, SHOWN_PART_SHARE * point.answer_threshold)
    )
    is_missing_part = (refusal is None or is_unsure) and 0 < len(possible) < len(assessment.parts)
    mean = sum(reading.probability for _, reading in relevant) / len(relevant) if relevant else 0.0
    return Judgement(
        probability=probability,
        relevant_chunk_ids=tuple(passage.chunk.id for passage, _ in relevant),
        evidence=tuple(_collect_evidence(relevant, possible if is_missing_part else None)),
        quality=_rate_quality(len(relevant), mean, refusal is None),
        refusal=refusal,
        is_partial=is_missing_part or (unread_parts > 0 and (refusal is None or is_unsure)),
        is_unsure=is_unsure,
        unread_parts=unread_parts,
        is_off_topic=assessment.is_off_topic or refusal is RefusalReason.EMPTY_RETRIEVAL or is_below_limit,
        unsure_parts=tuple(sorted(possible - shown)) if shown and refusal is None else (),
        answer_threshold=point.answer_threshold,
        unsure_threshold=point.unsure_threshold,
    )


def _choose_refusal(
    question: Question, passages: Sequence[Passage], has_relevant: bool, is_answered: bool
) -> RefusalReason | None:
    if not passages:
        return RefusalReason.EMPTY_RETRIEVAL
    if question.scope is AnswerScope.SELECTION:
        return None if has_relevant and is_answered else RefusalReason.SELECTED_TEXT_MISSING
    best = _find_best_score(passages)
    # A threshold in the question defines low relevance; otherwise the assessor does.
    if best < question.threshold or not (has_relevant or question.threshold):
        return RefusalReason.LOW_RELEVANCE
    return None if has_relevant and is_answered else RefusalReason.INSUFFICIENT_GROUNDING


def _find_best_score(passages: Sequence[Passage]) -> float:
    """Returns the best score of the passages of the book: the reader chose the selection, so no threshold applies."""
    return max((passage.score for passage in passages if passage.chunk.id != SELECTION_CHUNK_ID), default=0.0)


def _rate_quality(relevant_count: int, mean: float, is_answered: bool) -> RetrievalQuality:
    if relevant_count >= 2 and is_answered and mean >= 0.6:
        return "Good"
    return "Poor" if not relevant_count or mean < 0.3 else "Partial"


def _collect_evidence(relevant: Sequence[tuple[Passage, PassageAssessment]], parts: Set[int] | None) -> list[Evidence]:
    """Returns the most probable words of the relevant passages, best first, and at least the best for each part."""
    found = [
        Evidence.from_chunk(passage.chunk, span.start, span.end, span.probability, span.part)
        for passage, reading in relevant
        for span in reading.spans
        if parts is None or span.part in parts
    ]
    found.sort(key=lambda evidence: -evidence.probability)
    best = {evidence.part: evidence for evidence in reversed(found)}.values()
    found.sort(key=lambda evidence: evidence not in best)
    return sorted(found[:MAX_EVIDENCE], key=lambda evidence: -evidence.probability)


def rank_passages(retrieval: Retrieval, assessment: Assessment, k: int) -> tuple[Retrieval, Assessment]:
    """Returns the `k` best passages as they were read, with their readings, after the selection.

    If the question has several parts, the best passage for each part comes before the second best.
    """
    found = [i for i, passage in enumerate(retrieval.passages) if passage.chunk.id != SELECTION_CHUNK_ID]
    first = [i for i in range(len(retrieval.passages)) if i not in found]
    ranks = [_rank_for_part(assessment.readings, found, part) for part in range(len(assessment.parts))]
    found.sort(key=lambda i: -assessment.readings[i].probability)
    best = sorted(found, key=lambda i: min((rank[i] for rank in ranks), default=0))
    kept = [*first, *best[:k]]
    return (
        replace(retrieval, passages=tuple(retrieval.passages[i] for i in kept)),
        replace(assessment, readings=tuple(assessment.readings[i] for i in kept)),
    )


def _rank_for_part(readings: Sequence[PassageAssessment], found: Sequence[int], part: int) -> dict[int, int]:
    """Returns the rank of each passage for one part of a question."""
    spans = {i: [span.probability for span in readings[i].spans if span.part == part] for i in found}
    return {i: rank for rank, i in enumerate(sorted(found, key=lambda i: -max(spans[i], default=0.0)))}
