"""Estimates how probable it is that the passages answer a question and each of its parts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import log

from bookbound.answering.reading.cross_encoder import MAX_SPANS, CrossEncoder, log_odds, logistic_probability
from bookbound.answering.reading.question_parts import split_question
from bookbound.domain.chunk import Passage
from bookbound.domain.judgement import AnswerSpan, Assessment, PassageAssessment
from bookbound.domain.question import SELECTION_CHUNK_ID
from bookbound.text.tokens import asks_about_whole_text, extract_terms

INITIAL_PASSAGES, STOP_READING_PROBABILITY, MAX_PASSAGES_FOR_PARTS = 6, 0.5, 8
"""Passages that are always read; the probability of one of them from which on no more need be; those read for parts."""
UNREAD_PASSAGE = PassageAssessment(0.0)


class CrossEncoderAssessor:
    """Examines by reading question and passage together with a network, the passages in the order they are given."""

    def __init__(self, reader: CrossEncoder) -> None:
        self._reader = reader

    async def examine(self, question: str, passages: Sequence[Passage]) -> Assessment:
        if meant := assess_deictic_question(question, passages):
            return meant
        readings = await self._readings(question, passages, range(INITIAL_PASSAGES))
        if max(reading.probability for reading in readings) < STOP_READING_PROBABILITY:
            readings += await self._readings(question, passages, range(INITIAL_PASSAGES, len(passages)))
        readings += (UNREAD_PASSAGE,) * (len(passages) - len(readings))
        whole = Assessment(self._answered(question, passages, readings), readings)
        asked = split_question(question)
        return whole if len(asked) < 2 else await self._in_parts(asked, passages, whole)

    async def _readings(
        self, question: str, passages: Sequence[Passage], chosen: Sequence[int]
    ) -> tuple[PassageAssessment, ...]:
        """Those of the passages that are chosen, read, each reading weighed by its passage's place in the search."""
        chosen = [i for i in chosen if i < len(passages)]
        found = await self._reader.read(question, [passages[i].chunk for i in chosen])
        weights, at = self._reader.constants.place, compute_search_ranks(passages)
        return tuple(weigh_by_rank(weights, reading, at[i]) for i, reading in zip(chosen, found, strict=True))

    def _answered(self, question: str, passages: Sequence[Passage], readings: Sequence[PassageAssessment]) -> float:
        """How probably the question is answered, by all that was read for it."""
        return logistic_probability(
            self._reader.constants.question, compute_question_features(question, passages, readings)
        )

    async def _in_parts(self, asked: Sequence[str], passages: Sequence[Passage], whole: Assessment) -> Assessment:
        """The likeliest passages read again for each part: a part's words are its own, not the whole question's."""
        order = sorted(range(len(passages)), key=lambda i: -whole.readings[i].probability)
        chosen = sorted(order[:MAX_PASSAGES_FOR_PARTS])
        found = [await self._readings(part, passages, chosen) for part in asked]
        readings = list(whole.readings)
        for at, i in enumerate(chosen):
            readings[i] = _merge_part_readings(readings[i], [each[at] for each in found])
        alone = [dict(zip(chosen, each, strict=True)) for each in found]
        answered = [
            self._answered(part, passages, [each.get(i, UNREAD_PASSAGE) for i in range(len(passages))])
            for part, each in zip(asked, alone, strict=True)
        ]
        return Assessment(whole.probability, tuple(readings), tuple(answered))


def _merge_part_readings(whole: PassageAssessment, parts: Sequence[PassageAssessment]) -> PassageAssessment:
    """A passage answers as probably as it answers the whole question or any part, with the words for the parts."""
    spans = [replace(span, part=part) for part, reading in enumerate(parts) for span in reading.spans]
    best = max(whole.probability, *(reading.probability for reading in parts))
    return PassageAssessment(best, tuple(sorted(spans, key=lambda span: -span.probability)[: MAX_SPANS * len(parts)]))


QuestionFeatures = dict[str, float]


def compute_question_features(
    question: str, passages: Sequence[Passage], readings: Sequence[PassageAssessment]
) -> QuestionFeatures:
    """Figures of a question whose passages, in the search's order, were read; there is at least one.

    best: the log-odds of the likeliest reading. sharpness: the share of its first span.
    score, rank: the cosine of its passage, and how far down the search had it (as a logarithm).
    length: how many terms the question has (as a logarithm).
    """
    at = max(range(len(readings)), key=lambda i: readings[i].probability)
    best = readings[at]
    first = best.spans[0].probability / best.probability if best.spans and best.probability else 0.0
    return {
        "best": log_odds(best.probability),
        "sharpness": first,
        "score": measured_similarity(passages[at]),
        "rank": log(1 + (compute_search_ranks(passages)[at] or 0)),
        "length": log(1 + len(extract_terms(question))),
    }


def weigh_by_rank(weights: Mapping[str, float], reading: PassageAssessment, place: int | None) -> PassageAssessment:
    """A reading weighed by how far down the search, from 0, had its passage: what is found early answers more often."""
    if not reading.probability or place is None:
        return reading
    weighed = logistic_probability(weights, {"odds": log_odds(reading.probability), "place": log(1 + place)})
    shares = [min(span.probability / reading.probability, 1.0) for span in reading.spans]
    spans = [replace(span, probability=weighed * share) for span, share in zip(reading.spans, shares, strict=True)]
    return PassageAssessment(weighed, tuple(spans))


MAX_SELECTION_SPANS, NEUTRAL_SIMILARITY = 4, 0.4


def compute_search_ranks(passages: Sequence[Passage]) -> list[int | None]:
    """How far down the search had each passage, counted from 0; a selection has no place, nobody searched for it."""
    found = [passage.chunk.id != SELECTION_CHUNK_ID for passage in passages]
    return [sum(found[:i]) if searched else None for i, searched in enumerate(found)]


def assess_deictic_question(question: str, passages: Sequence[Passage]) -> Assessment | None:
    """What such a question comes to, or None where there is something to read for.

    "Explain this" can only mean the whole of a selection, which then is its own answer, if it says anything.
    """
    selected = [passage.chunk.text for passage in passages if passage.chunk.id == SELECTION_CHUNK_ID]
    points_at = selected if asks_about_whole_text(question) else []
    if any(map(extract_terms, points_at)):
        return Assessment(1.0, tuple(_read_whole_passage(passage) for passage in passages))
    names_something = extract_terms(question) and passages and not points_at
    return None if names_something else Assessment(0.0, tuple(PassageAssessment(0.0) for _ in passages))


def measured_similarity(passage: Passage) -> float:
    """The cosine that was measured; a selection's score is given, so its words alone must speak for it."""
    return NEUTRAL_SIMILARITY if passage.chunk.id == SELECTION_CHUNK_ID else passage.score


def _read_whole_passage(passage: Passage) -> PassageAssessment:
    meant = float(passage.chunk.id == SELECTION_CHUNK_ID)
    units = [unit for unit in passage.chunk.units if unit.kind != "heading"]
    return PassageAssessment(
        meant, tuple(AnswerSpan(unit.start, unit.end, meant) for unit in units[:MAX_SELECTION_SPANS])
    )
