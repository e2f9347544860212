"""Scores two texts with the cross-encoder: does a passage answer, with which words, and is a claim supported."""

from __future__ import annotations

import asyncio
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import exp, log
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from bookbound.domain.chunk import Chunk
from bookbound.domain.judgement import AnswerSpan, PassageAssessment
from bookbound.models import CONSTANTS_FILE, READER_FILE, damaged_model_error
from bookbound.models.onnx import ModelRuntime, TokenizedText

UNWEIGHTED_SUPPORT: Mapping[str, float] = {"read": 1.0}
"""A sentence is as surely supported as it is read to be."""


@dataclass(frozen=True, slots=True)
class LogitScale:
    """How a logit of the network becomes a probability."""

    scale: float
    shift: float

    def probability(self, logit: float) -> float:
        return logistic_probability({"logit": self.scale, "constant": self.shift}, {"logit": logit})


@dataclass(frozen=True, slots=True)
class CrossEncoderConstants:
    """What was fitted after the network: its scales, what a search adds to a reading and to a whole question, and how
    the liberties of a sentence weigh against the reading of it."""

    answers: LogitScale
    supported: LogitScale
    place: Mapping[str, float]
    question: Mapping[str, float]
    retold: Mapping[str, float]

    @classmethod
    def of(cls, models: ModelRuntime) -> Self:
        """The constants that come with the network."""
        kept = models.constants(CONSTANTS_FILE)
        try:
            scales = LogitScale(**kept["answers"]), LogitScale(**kept["supported"])
            return cls(*scales, kept["place"], kept["question"], kept.get("retold", UNWEIGHTED_SUPPORT))
        except (KeyError, TypeError) as trouble:
            raise damaged_model_error(CONSTANTS_FILE) from trouble


class CrossEncoder:
    """Reads pairs of texts, each by itself, so that what is found in one never depends on what else is read."""

    def __init__(self, models: ModelRuntime | None = None) -> None:
        self._models = models or ModelRuntime()
        self._network = self._models.network(READER_FILE)
        self.constants = CrossEncoderConstants.of(self._models)

    async def read(self, question: str, chunks: Sequence[Chunk]) -> tuple[PassageAssessment, ...]:
        """How probably each passage answers the question, and with which words."""
        first = await self._models.run(self._models.ids, question)
        return tuple(await asyncio.gather(*(self._reading(first, chunk) for chunk in chunks)))

    async def support(self, claim: str, premise: str) -> float:
        """How probably the premise supports the claim; a claim too long for one row is read piece by piece."""
        first, second = await self._models.run(lambda: (self._models.ids(claim), self._models.ids(premise)))
        pieces = [first[i : i + MAX_FIRST_TEXT_TOKENS] for i in range(0, len(first), MAX_FIRST_TEXT_TOKENS)]
        return min(await asyncio.gather(*(self._support(piece, second) for piece in pieces)), default=0.0)

    async def _reading(self, question: Sequence[int], chunk: Chunk) -> PassageAssessment:
        pieces, rows = await self._models.run(self._rows, question, chunk)
        looks = await asyncio.gather(*(self._models.run(self._look, row, chunk.text, pieces) for row in rows))
        spans = sorted((span for look in looks for span in look.spans), key=lambda span: -span.probability)
        return PassageAssessment(max((look.probability for look in looks), default=0.0), _drop_overlapping(spans))

    def _rows(self, question: Sequence[int], chunk: Chunk) -> tuple[TokenizedText, list[TokenWindow]]:
        pieces = self._models.pieces(chunk.text)
        path = self._models.ids(chunk.embedded.removesuffix(chunk.text))
        return pieces, list(build_windows(self._models.marks, question, path, pieces.ids))

    def _look(self, window: TokenWindow, text: str, pieces: TokenizedText) -> PassageAssessment:
        """What one row says of the stretch of the passage in it."""
        said = self._network.read(window.ids, token_type_ids=window.types)
        probability = self.constants.answers.probability(float(said["answers"]))
        inside = slice(window.at, len(window.ids) - 1)
        words = pieces.words[window.piece : window.piece + inside.stop - inside.start]
        spans = []
        for first, last, share in find_answer_spans(said["start"][inside], said["end"][inside], words):
            start, end = pieces.spans[window.piece + first][0], pieces.spans[window.piece + last][1]
            spans.append(AnswerSpan(*include_combining_marks(text, start, end), probability * share))
        return PassageAssessment(probability, tuple(spans))

    async def _support(self, claim: Sequence[int], premise: Sequence[int]) -> float:
        rows = build_windows(self._models.marks, claim, (), premise)
        return max(await asyncio.gather(*(self._models.run(self._judge, row) for row in rows)), default=0.0)

    def _judge(self, window: TokenWindow) -> float:
        said = self._network.read(window.ids, token_type_ids=window.types)
        return self.constants.supported.probability(float(said["supported"]))


def _drop_overlapping(spans: Sequence[AnswerSpan]) -> tuple[AnswerSpan, ...]:
    """The first few spans that touch none before them: neighbouring rows read some words twice."""
    kept: list[AnswerSpan] = []
    for span in spans:
        if all(span.end <= other.start or other.end <= span.start for other in kept):
            kept.append(span)
    return tuple(kept[:MAX_SPANS])


MAX_WINDOW_TOKENS, MAX_FIRST_TEXT_TOKENS, WINDOW_OVERLAP_TOKENS = 320, 64, 64


class TokenWindow(NamedTuple):
    """A row of word pieces: the first text, what stands over the second, and a stretch of the second.

    The stretch begins in the row at `at`, and with the second text's piece `piece`.
    """

    ids: list[int]
    second: int
    at: int
    piece: int

    @property
    def types(self) -> list[int]:
        return [0] * self.second + [1] * (len(self.ids) - self.second)


def build_windows(
    marks: tuple[int, int], first: Sequence[int], over: Sequence[int], second: Sequence[int]
) -> Iterator[TokenWindow]:
    """Rows that hold every piece of the second text; neighbours share some, so that what one cuts another has whole.

    The first text is read up to `LONGEST_FIRST` pieces.
    """
    opening, closing = marks
    asked = [opening, *first[:MAX_FIRST_TEXT_TOKENS], closing]
    room = MAX_WINDOW_TOKENS - len(asked) - len(over) - 1
    shared = min(WINDOW_OVERLAP_TOKENS, room // 2)
    for start in range(0, max(len(second) - shared, 1), room - shared) if second else ():
        piece = max(min(start, len(second) - room), 0)
        ids = [*asked, *over, *second[piece : piece + room], closing]
        yield TokenWindow(ids, len(asked), len(asked) + len(over), piece)


MAX_SPANS, MAX_SPAN_TOKENS, MIN_SPAN_SHARE = 4, 60, 0.02
_COMBINING_CATEGORIES = frozenset({"Mn", "Mc", "Me", "Cf", "Sk"})


class TokenSpan(NamedTuple):
    """Word pieces `first` to `last`, and their share of all that might be the answer."""

    first: int
    last: int
    share: float


def find_answer_spans(
    start: NDArray[np.float32], end: NDArray[np.float32], words: Sequence[int | None]
) -> list[TokenSpan]:
    """The likeliest answers in whole words, none touching another, best first.

    The share of a stretch is that of every answer that overlaps it: they differ in where they begin and stop.
    """
    pairs = np.outer(_softmax(start), _softmax(end))
    pairs = np.tril(np.triu(pairs), MAX_SPAN_TOKENS - 1)
    whole = pairs.sum()
    found: list[TokenSpan] = []
    while whole and len(found) < MAX_SPANS:
        first, last = map(int, np.unravel_index(pairs.argmax(), pairs.shape))
        while first and words[first - 1] == words[first]:
            first -= 1
        while last + 1 < len(words) and words[last + 1] == words[last]:
            last += 1
        overlapping = pairs[: last + 1, first:]
        share = float(overlapping.sum() / whole)
        if share < MIN_SPAN_SHARE:
            break
        overlapping[:] = 0
        found.append(TokenSpan(first, last, share))
    return sorted(found, key=lambda stretch: -stretch.share)


def include_combining_marks(text: str, start: int, end: int) -> tuple[int, int]:
    """The same characters with the marks that belong to the last one, which word pieces leave out."""
    while end < len(text) and unicodedata.category(text[end]) in _COMBINING_CATEGORIES:
        end += 1
    return start, end


def _softmax(logits: NDArray[np.float32]) -> NDArray[np.float64]:
    odds = np.exp(logits.astype(np.float64) - logits.max())
    shares: NDArray[np.float64] = odds / odds.sum()
    return shares


MIN_PROBABILITY = 1e-4


def logistic_probability(weights: Mapping[str, float], features: Mapping[str, float]) -> float:
    """A logistic model's opinion, by the features that it weighs."""
    given = {**features, "constant": 1.0}
    return 1 / (1 + exp(-min(max(sum(weight * given[name] for name, weight in weights.items()), -50), 50)))


def log_odds(p: float) -> float:
    p = min(max(p, MIN_PROBABILITY), 1 - MIN_PROBABILITY)
    return log(p / (1 - p))
