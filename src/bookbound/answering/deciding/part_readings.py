"""Merges the readings of the parts of a question into the reading of the whole."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import sqrt

from bookbound.domain.chunk import Passage
from bookbound.domain.judgement import AnswerSpan, Assessment, PassageAssessment
from bookbound.domain.question import Retrieval

# How much an answer to only one part of a question is worth, chosen on the development sets.
PARTIAL_ANSWER_WEIGHT = 0.65


def merge_part_readings(
    retrievals: Sequence[Retrieval], assessments: Sequence[Assessment]
) -> tuple[Retrieval, Assessment]:
    """Returns the passages of all parts, each once, with the words that answer each part.

    The question is answered if each part is, or in part if one part surely is. A single part is the whole question.
    """
    if len(assessments) == 1:
        return retrievals[0], assessments[0]
    passages: dict[str, Passage] = {}
    readings: dict[str, PassageAssessment] = {}
    for part, (retrieval, assessment) in enumerate(zip(retrievals, assessments, strict=True)):
        for passage, reading in zip(retrieval.passages, assessment.readings, strict=True):
            name = passage.chunk.id
            known = passages.get(name, passage)
            passages[name] = replace(known, score=max(known.score, passage.score))
            readings[name] = _add_part(readings.get(name, PassageAssessment(0.0)), reading, part)
    chances = tuple(assessment.probability for assessment in assessments)
    # The parts are about one subject: if one is answered, another is likelier to be than by itself.
    probability = max(sqrt(min(chances) * max(chances)), PARTIAL_ANSWER_WEIGHT * max(chances))
    merged = replace(retrievals[0], passages=tuple(passages.values()))
    return merged, Assessment(probability, tuple(readings.values()), chances)


def _add_part(known: PassageAssessment, reading: PassageAssessment, part: int) -> PassageAssessment:
    spans: list[AnswerSpan] = [*known.spans, *(replace(span, part=part) for span in reading.spans)]
    spans.sort(key=lambda span: -span.probability)
    return PassageAssessment(max(known.probability, reading.probability), tuple(spans))
