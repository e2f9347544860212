"""Takes the opening of a section for the answer to a question that only names the section."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from bookbound.domain.chunk import Chunk, Passage
from bookbound.domain.judgement import AnswerSpan, Assessment
from bookbound.domain.question import SELECTION_CHUNK_ID
from bookbound.text.tokens import extract_terms

NAMED_SECTION_PROBABILITY = 0.8
_ASKS_WHAT_IT_IS = re.compile(
    r"(?:(?:what(?:['’]s|\s+is|\s+are|\s+does)?|who\s+(?:is|are)|explain|describe|define|tell\s+me\s+about)\s+)?"
    r"(?P<name>.+?)(?:\s+(?:mean|meaning|definition|explained))?\s*[?.!]*",
    re.I,
)
_ASKS_SOMETHING_ELSE = re.compile(r"\b(?:how|why|when|where|which|who|whose)\b", re.I)


def prefer_named_section(question: str, passages: Sequence[Passage], assessment: Assessment) -> Assessment:
    """Returns the assessment, in which the opening of the section that the question names answers it.

    "What is a tuple?" is answered by the section "Tuples", whatever its first words are.
    """
    if assessment.probability >= NAMED_SECTION_PROBABILITY or not (name := _find_name(question)):
        return assessment
    named = [at for at, passage in enumerate(passages) if _is_named(passage.chunk, name)]
    at = min(named, key=lambda at: passages[at].chunk.position, default=None)
    opening = _find_opening(passages[at].chunk) if at is not None else None
    if at is None or opening is None:
        return assessment
    readings = list(assessment.readings)
    probability = max(readings[at].probability, NAMED_SECTION_PROBABILITY)
    readings[at] = replace(readings[at], probability=probability, spans=(opening, *readings[at].spans))
    return replace(assessment, probability=NAMED_SECTION_PROBABILITY, readings=tuple(readings))


def _find_name(question: str) -> frozenset[str]:
    """Returns the terms of what a question asks for, if it asks what that is."""
    found = _ASKS_WHAT_IT_IS.fullmatch(" ".join(question.split()))
    if not found or _ASKS_SOMETHING_ELSE.search(found["name"]):
        return frozenset()
    return frozenset(extract_terms(found["name"]))


def _is_named(chunk: Chunk, name: frozenset[str]) -> bool:
    return chunk.id != SELECTION_CHUNK_ID and frozenset(extract_terms(chunk.place.section)) == name


def _find_opening(chunk: Chunk) -> AnswerSpan | None:
    """Returns the first sentence of a chunk, unless it begins before the chunk."""
    first = next((unit for unit in chunk.units if unit.kind == "sentence" and unit.end - unit.start > 1), None)
    if first is None or (chunk.cut_start and first == chunk.units[0]):
        return None
    return AnswerSpan(first.start, first.end, NAMED_SECTION_PROBABILITY)
