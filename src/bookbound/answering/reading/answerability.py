"""Estimates how probable it is that the passages answer a question and each of its parts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import log
from typing import TYPE_CHECKING

from bookbound.answering.reading.cross_encoder import MAX_SPANS, CrossEncoder, log_odds, logistic_probability
from bookbound.answering.reading.question_parts import split_question
from bookbound.domain.chunk import Passage
from bookbound.domain.judgement import AnswerSpan, Assessment, PassageAssessment
from bookbound.domain.ports import Assessor
from bookbound.domain.question import NO_DEADLINE, SELECTION_CHUNK_ID, Deadline
from bookbound.text.tokens import asks_about_whole_text, extract_terms

if TYPE_CHECKING:
    from bookbound.models.cohere import CohereClient


RERANK_MODEL = "rerank-v3.5"

INITIAL_PASSAGES, STOP_READING_PROBABILITY, MAX_PASSAGES_FOR_PARTS = 6, 0.5, 8
"""The rest is read only if none of the initial passages reaches the probability."""
MAX_SELECTION_SPANS, NEUTRAL_SIMILARITY = 4, 0.4
UNREAD_PASSAGE = PassageAssessment(0.0)
QuestionFeatures = dict[str, float]


class CrossEncoderAssessor:
    """Reads the question with each passage, in the order of the passages."""

    def __init__(self, reader: CrossEncoder) -> None:
        self._reader = reader

    async def assess(self, question: str, passages: Sequence[Passage], deadline: Deadline = NO_DEADLINE) -> Assessment:
        if assessment := assess_deictic_question(question, passages):
            return assessment
        readings = await self._read(question, passages, range(INITIAL_PASSAGES))
        if max(reading.probability for reading in readings) < STOP_READING_PROBABILITY:
            readings += await self._read(question, passages, range(INITIAL_PASSAGES, len(passages)))
        readings += (UNREAD_PASSAGE,) * (len(passages) - len(readings))
        whole = Assessment(self._estimate(question, passages, readings), readings)
        parts = split_question(question)
        return whole if len(parts) < 2 else await self._assess_parts(parts, passages, whole)

    async def _read(
        self, question: str, passages: Sequence[Passage], numbers: Sequence[int]
    ) -> tuple[PassageAssessment, ...]:
        """Reads some of the passages, and weighs each reading by the rank of its passage in the search."""
        numbers = [i for i in numbers if i < len(passages)]
        found = await self._reader.read(question, [passages[i].chunk for i in numbers])
        weights, ranks = self._reader.constants.rank_weights, compute_search_ranks(passages)
        return tuple(weigh_by_rank(weights, reading, ranks[i]) for i, reading in zip(numbers, found, strict=True))

    def _estimate(self, question: str, passages: Sequence[Passage], readings: Sequence[PassageAssessment]) -> float:
        """Returns the probability that all readings together answer the question."""
        features = compute_question_features(question, passages, readings)
        return logistic_probability(self._reader.constants.question_weights, features)

    async def _assess_parts(self, parts: Sequence[str], passages: Sequence[Passage], whole: Assessment) -> Assessment:
        """Reads the most probable passages again for each part, because each part has its own answer."""
        order = sorted(range(len(passages)), key=lambda i: -whole.readings[i].probability)
        numbers = sorted(order[:MAX_PASSAGES_FOR_PARTS])
        found = [dict(zip(numbers, await self._read(part, passages, numbers), strict=True)) for part in parts]
        readings = list(whole.readings)
        for i in numbers:
            readings[i] = _merge_part_readings(readings[i], [each[i] for each in found])
        probabilities = [
            self._estimate(part, passages, [each.get(i, UNREAD_PASSAGE) for i in range(len(passages))])
            for part, each in zip(parts, found, strict=True)
        ]
        return Assessment(whole.probability, tuple(readings), tuple(probabilities))


def _merge_part_readings(whole: PassageAssessment, parts: Sequence[PassageAssessment]) -> PassageAssessment:
    """Returns the highest probability for the whole question or any part, with the words for the parts."""
    spans = [replace(span, part=part) for part, reading in enumerate(parts) for span in reading.spans]
    best = max(whole.probability, *(reading.probability for reading in parts))
    return PassageAssessment(best, tuple(sorted(spans, key=lambda span: -span.probability)[: MAX_SPANS * len(parts)]))


def compute_question_features(
    question: str, passages: Sequence[Passage], readings: Sequence[PassageAssessment]
) -> QuestionFeatures:
    """Returns the features of a question with at least one reading, in the order of the search.

    best: the log-odds of the most probable reading. sharpness: the share of its first span. score, rank: the cosine of
    its passage and the logarithm of its rank in the search. length: the logarithm of the number of question terms.
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


def weigh_by_rank(weights: Mapping[str, float], reading: PassageAssessment, rank: int | None) -> PassageAssessment:
    """Weighs a reading by the rank of its passage, because passages that are found early answer more often."""
    if not reading.probability or rank is None:
        return reading
    weighed = logistic_probability(weights, {"odds": log_odds(reading.probability), "place": log(1 + rank)})
    shares = [min(span.probability / reading.probability, 1.0) for span in reading.spans]
    spans = [replace(span, probability=weighed * share) for span, share in zip(reading.spans, shares, strict=True)]
    return PassageAssessment(weighed, tuple(spans))


def compute_search_ranks(passages: Sequence[Passage]) -> list[int | None]:
    """Returns the rank of each passage in the search, from 0; a selection was not searched and has none."""
    searched = [passage.chunk.id != SELECTION_CHUNK_ID for passage in passages]
    return [sum(searched[:i]) if is_searched else None for i, is_searched in enumerate(searched)]


def assess_deictic_question(question: str, passages: Sequence[Passage]) -> Assessment | None:
    """Assesses a question that names nothing itself, or returns None if the passages must be read.

    "Explain this" means the whole selection, which then is its own answer if it says anything.
    """
    selected = [passage.chunk.text for passage in passages if passage.chunk.id == SELECTION_CHUNK_ID]
    meant = selected if asks_about_whole_text(question) else []
    if any(map(extract_terms, meant)):
        return Assessment(1.0, tuple(_read_whole_passage(passage) for passage in passages))
    names_something = extract_terms(question) and passages and not meant
    return None if names_something else Assessment(0.0, (UNREAD_PASSAGE,) * len(passages))


def measured_similarity(passage: Passage) -> float:
    """Returns the cosine of a passage; the score of a selection is not measured, so it gets a neutral one."""
    return NEUTRAL_SIMILARITY if passage.chunk.id == SELECTION_CHUNK_ID else passage.score


def _read_whole_passage(passage: Passage) -> PassageAssessment:
    probability = float(passage.chunk.id == SELECTION_CHUNK_ID)
    units = [unit for unit in passage.chunk.units if unit.kind != "heading"]
    spans = tuple(AnswerSpan(unit.start, unit.end, probability) for unit in units[:MAX_SELECTION_SPANS])
    return PassageAssessment(probability, spans)


class CohereRerankAssessor:
    """Has another assessor read the passages in Cohere's order, and takes Cohere's relevance as their probability.

    An answer needs both: a passage that Cohere finds relevant, and words in it that the reader finds to answer. A
    selection keeps its own reading, and a question that only points at the selection is not sent to Cohere.
    """

    def __init__(self, cohere: CohereClient, reader: Assessor, model: str = RERANK_MODEL) -> None:
        self._cohere, self._reader, self._model = cohere, reader, model

    async def assess(self, question: str, passages: Sequence[Passage], deadline: Deadline = NO_DEADLINE) -> Assessment:
        found = [i for i, passage in enumerate(passages) if passage.chunk.id != SELECTION_CHUNK_ID]
        if not found or assess_deictic_question(question, passages):
            return await self._reader.assess(question, passages, deadline)
        texts = [passages[i].chunk.embedding_text for i in found]
        scores = await self._cohere.rerank(question, texts, self._model, deadline)
        relevance = dict(zip(found, scores, strict=True))
        order = sorted(range(len(passages)), key=lambda i: -relevance.get(i, 1.0))
        read = await self._reader.assess(question, [passages[i] for i in order], deadline)
        readings = dict(zip(order, read.readings, strict=True))
        return replace(
            read, readings=tuple(_apply_relevance(readings[i], relevance.get(i)) for i in range(len(passages)))
        )

    async def close(self) -> None:
        await self._cohere.close()


def _apply_relevance(reading: PassageAssessment, relevance: float | None) -> PassageAssessment:
    """Replaces the probability of a reading; its spans keep their shares of it."""
    if relevance is None:
        return reading
    share = relevance / reading.probability if reading.probability else 0.0
    return PassageAssessment(
        relevance, tuple(replace(span, probability=span.probability * share) for span in reading.spans)
    )
