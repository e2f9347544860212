"""Estimates how probable it is that the passages answer a question."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import log

from bookbound.answering.reading.answering_words import SURE_PROBABILITY, WORDS_FEATURES, find_answering_words
from bookbound.domain.chunk import Passage
from bookbound.domain.judgement import AnswerSpan, Assessment, PassageAssessment
from bookbound.domain.question import NO_DEADLINE, SELECTION_CHUNK_ID, Deadline, QuestionPart
from bookbound.models.cross_encoder import CrossEncoder, Weights, log_odds, logistic_probability
from bookbound.text import extract_terms

# How many passages the fast reader reads first and at most, and the strong reader at most.
FIRST_PASSAGES = 6
MAX_FAST_PASSAGES = 16
MAX_STRONG_PASSAGES = 4
# If no passage reaches this score, or has more than this share of the question's words, it is about something else.
MIN_SCORE = 0.3
MAX_FAR_SHARE = 0.5
# Log-odds of the best of the first passages; between them the verdict is open, and the fast reader reads on.
LIKELY_ODDS = -0.5
UNLIKELY_ODDS = -3.0
# The strong reader stops if a passage answers and leads the next one, or if neither it nor the next one answers.
ANSWERED_ODDS = 0.0
LEAD_ODDS = 1.0
MISSING_ODDS = -1.5
MAX_SELECTION_SPANS = 4
UNREAD_PASSAGE = PassageAssessment(0.0)
QuestionFeatures = dict[str, float]
Readings = Mapping[int, PassageAssessment]
"""The readings of some passages by their numbers in the search."""


class CrossEncoderAssessor:
    """Has the fast reader read the passages, and the strong one the best of them, until the verdict is clear.

    Without a strong reader, the fast one decides. The probability is a fitted function of the features of the question,
    also if nothing had to be read.
    """

    def __init__(self, fast: CrossEncoder, strong: CrossEncoder | None = None) -> None:
        self._fast, self._strong = fast, strong

    async def assess(
        self, part: QuestionPart, passages: Sequence[Passage], deadline: Deadline = NO_DEADLINE
    ) -> Assessment:
        if not passages:
            return Assessment(0.0, ())
        if is_off_topic(part, passages):
            return replace(self._estimate(part, passages, {0: UNREAD_PASSAGE}, {}), is_off_topic=True)
        fast = read_without_network(part, passages)
        strong: Readings = {}
        if fast is None:
            fast = await self._read_fast(part.text, passages)
            strong = await self._read_strong(part.text, passages, fast, deadline) if self._strong else {}
        return self._estimate(part, passages, fast, strong)

    def _estimate(
        self, part: QuestionPart, passages: Sequence[Passage], fast: Readings, strong: Readings
    ) -> Assessment:
        constants = (self._strong or self._fast).constants
        # The reader chose a selection and no search did, so it has weights of its own.
        weights = constants.selection if _has_only_selection(passages) else constants.question
        return estimate_answer(weights, part, passages, fast, strong)

    async def _read_fast(self, question: str, passages: Sequence[Passage]) -> Readings:
        """Reads the first passages, and more if it is open whether these answer."""
        first = range(min(FIRST_PASSAGES, len(passages)))
        readings = await _read(self._fast, question, passages, first)
        if UNLIKELY_ODDS < log_odds(max(reading.probability for reading in readings.values())) < LIKELY_ODDS:
            rest = range(len(first), min(MAX_FAST_PASSAGES, len(passages)))
            readings |= await _read(self._fast, question, passages, rest)
        return readings

    async def _read_strong(
        self, question: str, passages: Sequence[Passage], fast: Readings, deadline: Deadline
    ) -> Readings:
        """Reads the most probable passages one by one until the verdict is clear or the time is over."""
        assert self._strong
        order = sorted(fast, key=lambda i: -fast[i].probability)
        readings: dict[int, PassageAssessment] = {}
        for number, following in zip(order[:MAX_STRONG_PASSAGES], [*order[1:], None], strict=False):
            readings |= await _read(self._strong, question, passages, [number])
            best = log_odds(max(reading.probability for reading in readings.values()))
            rival = log_odds(fast[following].probability if following is not None else 0.0)
            is_answered = best > ANSWERED_ODDS and rival < best - LEAD_ODDS
            is_missing = best < MISSING_ODDS and rival < MISSING_ODDS
            if is_answered or is_missing or deadline.has_passed:
                break
        return readings


async def _read(
    reader: CrossEncoder, question: str, passages: Sequence[Passage], numbers: Sequence[int]
) -> dict[int, PassageAssessment]:
    """Reads some of the passages, and weighs each reading by the rank of its passage in the search."""
    found = await reader.read(question, [passages[i].chunk for i in numbers])
    ranks = compute_search_ranks(passages)
    weighed = (
        weigh_by_rank(reader.constants.rank, reading, ranks[i]) for i, reading in zip(numbers, found, strict=True)
    )
    return dict(zip(numbers, weighed, strict=True))


def combine_readings(count: int, fast: Readings, strong: Readings) -> tuple[PassageAssessment, ...]:
    """Returns one reading per passage.

    If the strong reader read some, only these have words that answer, and the others are not more probable than these.
    """
    if not strong:
        return tuple(fast.get(i, UNREAD_PASSAGE) for i in range(count))
    limit = min(reading.probability for reading in strong.values())
    rest = {i: PassageAssessment(min(reading.probability, limit)) for i, reading in fast.items()}
    return tuple(({**rest, **strong}).get(i, UNREAD_PASSAGE) for i in range(count))


def read_without_network(part: QuestionPart, passages: Sequence[Passage]) -> Readings | None:
    """Returns the readings of a question that needs no network, or None if the passages must be read.

    "Explain this" means the whole selection, which then is its own answer if it says anything. A selected label answers
    little.
    """
    selected = [passage.chunk.text for passage in passages if passage.chunk.id == SELECTION_CHUNK_ID]
    is_only_label = part.needs_book and _has_only_selection(passages)
    if part.points_at_text and any(map(extract_terms, selected)) and not is_only_label:
        return {at: _read_whole_passage(passage) for at, passage in enumerate(passages)}
    return {0: UNREAD_PASSAGE} if is_only_label or names_nothing(part, passages) else None


def is_off_topic(part: QuestionPart, passages: Sequence[Passage]) -> bool:
    """Returns whether all passages are far from the question, by their meaning and by their words."""
    if part.points_at_text or _has_only_selection(passages) or max(each.score for each in passages) >= MIN_SCORE:
        return False
    wanted = part.content_terms or part.terms
    most = max(len(wanted.intersection(extract_terms(passage.chunk.text))) for passage in passages)
    return most <= MAX_FAR_SHARE * len(wanted)


def names_nothing(part: QuestionPart, passages: Sequence[Passage]) -> bool:
    """Returns whether a question has no words that a passage could answer: "Why?", or "Explain this" of a selection."""
    has_selection = any(passage.chunk.id == SELECTION_CHUNK_ID for passage in passages)
    return not part.terms or (part.points_at_text and has_selection)


def estimate_answer(
    weights: Weights, part: QuestionPart, passages: Sequence[Passage], fast: Readings, strong: Readings
) -> Assessment:
    """Returns the fitted probability that the passages answer, and one reading for each of them."""
    features = compute_question_features(part, passages, fast, strong)
    probability, readings = logistic_probability(weights, features), combine_readings(len(passages), fast, strong)
    words = find_answering_words(part, passages, readings, is_sure=probability >= SURE_PROBABILITY)
    if words is None:
        return Assessment(probability, readings)
    probability = logistic_probability(weights, {**features, words.feature: 1.0})
    return Assessment(probability, words.apply(readings, probability))


def compute_question_features(
    part: QuestionPart, passages: Sequence[Passage], fast: Readings, strong: Readings
) -> QuestionFeatures:
    """Returns the features of a question, which are those of its most probable reading.

    best: its log-odds. sharpness: the share of its first span. score, rank: the log-odds of the score of its passage,
    and the logarithm of its rank in the search. distance: the log-odds of the score if they are below 0. length: the
    logarithm of the number of question terms. fast: the log-odds of the fast reading. agreement: how much the spans of
    both readers overlap. The features of words that answer by their place are 0 until such words are found.
    """
    readings = strong or fast
    at = max(readings, key=lambda i: readings[i].probability)
    best = readings[at]
    return {
        "best": log_odds(best.probability),
        "sharpness": best.spans[0].probability / best.probability if best.spans and best.probability else 0.0,
        "score": log_odds(passages[at].score),
        "distance": min(log_odds(passages[at].score), 0.0),
        "rank": log(1 + (compute_search_ranks(passages)[at] or 0)),
        "length": log(1 + len(part.terms)),
        "fast": log_odds(fast[at].probability),
        "agreement": _measure_agreement(best, fast[at]),
        **dict.fromkeys(WORDS_FEATURES, 0.0),
    }


def _measure_agreement(one: PassageAssessment, other: PassageAssessment) -> float:
    """Returns how much the first spans of two readings overlap, from 0 to 1."""
    if not one.spans or not other.spans:
        return 0.0
    first, second = one.spans[0], other.spans[0]
    common = max(0, min(first.end, second.end) - max(first.start, second.start))
    return common / (max(first.end, second.end) - min(first.start, second.start))


def weigh_by_rank(weights: Weights, reading: PassageAssessment, rank: int | None) -> PassageAssessment:
    """Weighs a reading by the rank of its passage, because passages that are found early answer more often."""
    if not reading.probability or rank is None:
        return reading
    features = {"odds": log_odds(reading.probability), "place": log(1 + rank)}
    return reading.scaled_to(logistic_probability(weights, features))


def compute_search_ranks(passages: Sequence[Passage]) -> list[int | None]:
    """Returns the rank of each passage in the search, from 0; a selection was not searched and has none."""
    searched = [passage.chunk.id != SELECTION_CHUNK_ID for passage in passages]
    return [sum(searched[:i]) if is_searched else None for i, is_searched in enumerate(searched)]


def _has_only_selection(passages: Sequence[Passage]) -> bool:
    return all(passage.chunk.id == SELECTION_CHUNK_ID for passage in passages)


def _read_whole_passage(passage: Passage) -> PassageAssessment:
    probability = float(passage.chunk.id == SELECTION_CHUNK_ID)
    units = [unit for unit in passage.chunk.units if unit.kind != "heading"]
    spans = tuple(AnswerSpan(unit.start, unit.end, probability) for unit in units[:MAX_SELECTION_SPANS])
    return PassageAssessment(probability, spans)
