"""Finds the words for a question that only names a section of the book or a piece of code."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from itertools import groupby
from typing import NamedTuple

from bookbound.domain.chunk import Chunk, Passage, QuotableUnit
from bookbound.domain.judgement import AnswerSpan, Assessment, PassageAssessment
from bookbound.domain.question import SELECTION_CHUNK_ID
from bookbound.text.sentences import split_sentences
from bookbound.text.tokens import extract_terms

NAMED_PROBABILITY = 0.8
MIN_READING = 0.5
"""How probable the reading of a section must be whose heading says more than the name."""
_ASKS_WHAT_IT_IS = re.compile(
    r"(?:(?:what(?:['’]s|\s+is|\s+are|\s+does)?|who\s+(?:is|are)|explain|describe|define|tell\s+me\s+about|"
    r"(?:show|give)(?:\s+me)?|list|i\s+need)\s+)?"
    r"(?P<name>.+?)(?:\s+(?:do|give|return|mean|meaning|definition|explained))?\s*[?.!]*",
    re.I,
)
_REQUEST = re.compile(r"(?:(?:please\s+)?(?:show|give)(?:\s+me)?|list|i\s+need)\s+(?:the|all|an?)\b", re.I)
_ASKS_WHAT_IT_HAS = re.compile(
    r"(?:what|which)\s+(?P<things>(?:\S+\s+)?\S+s)\s+(?:does|do|can)\s+(?P<owner>.+?)\s+(?:have|take|accept|support)\s*[?.!]*",
    re.I,
)
_ASKS_SOMETHING_ELSE = re.compile(r"\b(?:how|why|when|where|which|who|whose)\b", re.I)
_CODE = re.compile(r"`[^`]+`|--?\w[\w-]*|(?=\S*(?:\w[_./:]{1,2}\w|\w\(|[a-z][A-Z]))\S+")
"""A word that is a name in code: an option, a path, a call, a name with a dot, an underscore or inner capitals."""


class NamedWords(NamedTuple):
    """Characters `start` to `end` of the passage with this number."""

    passage: int
    start: int
    end: int


def prefer_named_words(question: str, passages: Sequence[Passage], assessment: Assessment) -> Assessment:
    """Returns the assessment, in which a question that asks what something is has the words about that name.

    "What is a tuple?" is answered by the opening of the section "Tuples", whatever its first words are, "What options
    does start have?" by the list or table in the section "Options" below "start", and "use_sim_time" by the sentence
    that has this name.
    """
    asked = _find_request(" ".join(question.split()))
    owned = _ASKS_WHAT_IT_HAS.fullmatch(asked)
    found = _ASKS_WHAT_IT_IS.fullmatch(f"{owned['things']} {owned['owner']}" if owned else asked)
    name = frozenset(extract_terms(found["name"])) if found else frozenset()
    if not passages or not found or not name or _ASKS_SOMETHING_ELSE.search(found["name"]):
        return assessment
    words = _find_in_section(name, passages, assessment.readings, ("row", "item") if owned else ("sentence",))
    if words:
        # The list of what something has is complete; a surer reading may be of one example.
        is_settled = assessment.probability >= NAMED_PROBABILITY and not owned
        # A mere keyword asks for the section that has its name, and not for a sentence elsewhere that mentions it.
        is_keyword = found["name"] == asked and _is_named(passages[words.passage].chunk, name)
        return assessment if is_settled and not is_keyword else _answer_with(words, assessment)
    is_code = not owned and _CODE.fullmatch(found["name"])
    words = _find_mention(found["name"].strip("`"), passages, assessment.readings) if is_code else None
    return _answer_with(words, assessment) if words else assessment


def _find_request(question: str) -> str:
    """Returns the sentence that requests something by its name after the reason for it, or the whole question."""
    sentences = [question[unit.start : unit.end] for unit in split_sentences(question)]
    return next((each for each in sentences if _REQUEST.match(each)), question)


def _find_in_section(
    name: frozenset[str], passages: Sequence[Passage], readings: Sequence[PassageAssessment], kinds: Sequence[str]
) -> NamedWords | None:
    """Returns the words of the section that has this name: those that the reader found, or else its opening.

    The headings above the section may have a part of the name. If its own heading says more than the name, the reader
    must have found the opening of the section itself.
    """
    best = max(range(len(passages)), key=lambda at: readings[at].probability)
    chunk, reading = passages[best].chunk, readings[best]
    opening = _find_opening(chunk)
    is_found = reading.probability >= MIN_READING and bool(reading.spans)
    if is_found and name < _heading_terms(chunk) and opening and _contains(opening, reading):
        return NamedWords(best, *opening[1:])
    named = [at for at, passage in enumerate(passages) if _is_named(passage.chunk, name)]
    if is_found and best in named and "sentence" in kinds:
        return NamedWords(best, *_find_run(chunk, reading.spans[0].start, reading.spans[0].end))
    at = min(named, key=lambda at: passages[at].chunk.position, default=None)
    opening = None
    if at is not None:
        opening = _find_opening(passages[at].chunk, kinds) or _find_opening(passages[at].chunk, ("item", "row"))
    return NamedWords(at, *_find_run(passages[at].chunk, *opening[1:])) if at is not None and opening else None


def _find_run(chunk: Chunk, start: int, end: int) -> tuple[int, int]:
    """Returns the whole list or table in which words begin, because the question names it, or the words."""
    for kind, run in groupby(chunk.units, lambda unit: unit.kind):
        units = list(run)
        if kind in ("item", "row") and units[0].start <= start < units[-1].end:
            return units[0].start, units[-1].end
    return start, end


def _find_mention(name: str, passages: Sequence[Passage], readings: Sequence[PassageAssessment]) -> NamedWords | None:
    """Returns the sentence that has this name, from the most probable passage that has one."""
    order = sorted(range(len(passages)), key=lambda at: -readings[at].probability)
    for at in order:
        chunk, reading = passages[at].chunk, readings[at]
        mentions = [
            unit
            for unit in chunk.units
            if unit.kind in ("sentence", "item", "row") and _mentions(chunk.text[unit.start : unit.end], name)
        ]
        if mentions:
            chosen = next((unit for unit in mentions if _contains(unit, reading)), mentions[0])
            return NamedWords(at, chosen.start, chosen.end)
    return None


def _mentions(text: str, name: str) -> bool:
    return re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", text) is not None


def _contains(unit: QuotableUnit, reading: PassageAssessment) -> bool:
    """Returns whether the likeliest words of a reading begin in a unit."""
    return bool(reading.spans) and unit.start <= reading.spans[0].start < unit.end


def _answer_with(words: NamedWords, assessment: Assessment) -> Assessment:
    """Returns the assessment with these words alone, because others are about something else."""
    probability = max(assessment.probability, NAMED_PROBABILITY)
    readings = [PassageAssessment(reading.probability) for reading in assessment.readings]
    span = AnswerSpan(words.start, words.end, probability)
    readings[words.passage] = PassageAssessment(max(readings[words.passage].probability, probability), (span,))
    return replace(assessment, probability=probability, readings=tuple(readings))


def _is_named(chunk: Chunk, name: frozenset[str]) -> bool:
    own = _heading_terms(chunk)
    return bool(own) and own <= name <= own.union(extract_terms(" ".join(chunk.place.heading_path)))


def _heading_terms(chunk: Chunk) -> frozenset[str]:
    return frozenset(extract_terms(chunk.place.section)) if chunk.id != SELECTION_CHUNK_ID else frozenset()


def _find_opening(chunk: Chunk, kinds: Sequence[str] = ("sentence",)) -> QuotableUnit | None:
    """Returns the first sentence of a chunk, or its first unit of other kinds, unless it begins before the chunk."""
    first = next((unit for unit in chunk.units if unit.kind in kinds and unit.end - unit.start > 1), None)
    return None if first is None or (chunk.cut_start and first == chunk.units[0]) else first
