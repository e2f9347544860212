"""Scores two texts with the cross-encoder: does a passage answer, with which words, and is a claim supported."""

from __future__ import annotations

import asyncio
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import exp, log
from typing import Literal, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from bookbound.domain.chunk import Chunk
from bookbound.domain.judgement import AnswerSpan, PassageAssessment
from bookbound.models import CONSTANTS_FILE, FAST_READER_FILE, STRONG_READER_FILE, check_numbers, damaged_model_error
from bookbound.models.onnx import ModelRuntime, TokenizedText

ReaderName = Literal["fast", "strong"]
Weights = Mapping[str, float]
READER_FILES: Mapping[str, str] = {"fast": FAST_READER_FILE, "strong": STRONG_READER_FILE}
CLAIM_INPUTS: Mapping[str, Mapping[str, Sequence[int]]] = {"fast": {}, "strong": {"is_claim": [1]}}
"""The strong reader reads claims with other weights than questions."""
MIN_PROBABILITY = 1e-4  # keeps the log odds of a sure reading finite
# The readers were trained on windows of this form.
MAX_WINDOW_TOKENS = 320
MAX_FIRST_TEXT_TOKENS = 64
MAX_CLAIM_TOKENS = 128  # a claim is read with the sentence before it
WINDOW_OVERLAP_TOKENS = 64
MAX_SPANS = 4
MAX_SPAN_TOKENS = 60
MIN_SPAN_SHARE = 0.02
_COMBINING_CATEGORIES = frozenset({"Mn", "Mc", "Me", "Cf", "Sk"})


@dataclass(frozen=True, slots=True)
class LogitScale:
    """Turns a logit of the network into a probability."""

    scale: float
    shift: float

    def probability(self, logit: float) -> float:
        return logistic_probability({"logit": self.scale, "constant": self.shift}, {"logit": logit})


@dataclass(frozen=True, slots=True)
class ReaderConstants:
    """What was fitted after a network: the scales of its logits, and the weights of logistic models on its readings.

    They weigh a reading by its search rank, a question by its features, a question about a selection, and a paraphrase
    by its two readings and what it adds. A paraphrase that is not supported is `plausible` from that probability on.
    """

    answers: LogitScale
    supported: LogitScale
    rank: Weights
    question: Weights
    selection: Weights
    paraphrase: Weights
    plausible: float

    @classmethod
    def load(cls, models: ModelRuntime, name: ReaderName) -> Self:
        try:
            values = models.constants(CONSTANTS_FILE)[name]
            answers, supported = (LogitScale(**check_numbers(values[each])) for each in ("answers", "supported"))
            names = ("rank", "question", "selection", "paraphrase")
            weights = {name: check_numbers(values[name]) for name in names}
            return cls(answers, supported, **weights, plausible=check_numbers(values["labels"])["plausible"])
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise damaged_model_error(CONSTANTS_FILE) from error


class CrossEncoder:
    """Reads pairs of texts with one of the two readers, each pair alone, so that no result depends on the others."""

    def __init__(self, models: ModelRuntime | None = None, name: ReaderName = "strong") -> None:
        self._models = models or ModelRuntime()
        self._network, self._claim_inputs = self._models.network(READER_FILES[name]), CLAIM_INPUTS[name]
        self.constants = ReaderConstants.load(self._models, name)

    async def read(self, question: str, chunks: Sequence[Chunk]) -> tuple[PassageAssessment, ...]:
        """Estimates how probable it is that each passage answers, and finds the words that do."""
        first = await self._models.run(self._models.ids, question)
        return tuple(await asyncio.gather(*(self._read_chunk(first, chunk) for chunk in chunks)))

    async def support(self, claim: str, premise: str) -> float:
        """Returns the probability that the premise supports the claim; a long claim is read in pieces."""
        first, second = await self._models.run(lambda: (self._models.ids(claim), self._models.ids(premise)))
        pieces = [first[i : i + MAX_CLAIM_TOKENS] for i in range(0, len(first), MAX_CLAIM_TOKENS)]
        return min(await asyncio.gather(*(self._support_piece(piece, second) for piece in pieces)), default=0.0)

    async def _read_chunk(self, question: Sequence[int], chunk: Chunk) -> PassageAssessment:
        tokens, windows = await self._models.run(self._build_windows, question, chunk)
        found = await asyncio.gather(
            *(self._models.run(self._read_window, window, chunk.text, tokens) for window in windows)
        )
        spans = sorted((span for reading in found for span in reading.spans), key=lambda span: -span.probability)
        return PassageAssessment(max((each.probability for each in found), default=0.0), _drop_overlapping(spans))

    def _build_windows(self, question: Sequence[int], chunk: Chunk) -> tuple[TokenizedText, list[TokenWindow]]:
        tokens = self._models.tokenize(chunk.text)
        path = self._models.ids(chunk.embedding_text.removesuffix(chunk.text))
        return tokens, list(build_windows(self._models.special_ids, question, path, tokens.ids))

    def _read_window(self, window: TokenWindow, text: str, tokens: TokenizedText) -> PassageAssessment:
        outputs = self._network.read(window.ids, token_type_ids=window.types)
        probability = self.constants.answers.probability(float(outputs["answers"]))
        inside = slice(window.at, len(window.ids) - 1)
        words = tokens.words[window.token : window.token + inside.stop - inside.start]
        spans = []
        for first, last, share in find_answer_spans(outputs["start"][inside], outputs["end"][inside], words):
            start, end = tokens.spans[window.token + first][0], tokens.spans[window.token + last][1]
            spans.append(AnswerSpan(*include_combining_marks(text, start, end), probability * share))
        return PassageAssessment(probability, tuple(spans))

    async def _support_piece(self, claim: Sequence[int], premise: Sequence[int]) -> float:
        windows = build_windows(self._models.special_ids, claim, (), premise, MAX_CLAIM_TOKENS)
        return max(
            await asyncio.gather(*(self._models.run(self._support_window, each) for each in windows)), default=0.0
        )

    def _support_window(self, window: TokenWindow) -> float:
        outputs = self._network.read(window.ids, token_type_ids=window.types, **self._claim_inputs)
        return self.constants.supported.probability(float(outputs["supported"]))


def _drop_overlapping(spans: Sequence[AnswerSpan]) -> tuple[AnswerSpan, ...]:
    """Returns the first spans that do not overlap; neighbouring windows read some words twice."""
    kept: list[AnswerSpan] = []
    for span in spans:
        if all(span.end <= other.start or other.end <= span.start for other in kept):
            kept.append(span)
    return tuple(kept[:MAX_SPANS])


class TokenWindow(NamedTuple):
    """A row of tokens: the first text, a heading path, and a stretch of the second text.

    The second segment begins at `second`; the stretch begins at `at`, with token number `token` of the second text.
    """

    ids: list[int]
    second: int
    at: int
    token: int

    @property
    def types(self) -> list[int]:
        return [0] * self.second + [1] * (len(self.ids) - self.second)


def build_windows(
    special_ids: tuple[int, int],
    first: Sequence[int],
    path: Sequence[int],
    second: Sequence[int],
    max_first: int = MAX_FIRST_TEXT_TOKENS,
) -> Iterator[TokenWindow]:
    """Yields rows with every token of the second text; neighbours overlap, so that no answer is cut in all of them.

    The first text is cut to `max_first` tokens.
    """
    opening, closing = special_ids
    start_ids = [opening, *first[:max_first], closing]
    room = MAX_WINDOW_TOKENS - len(start_ids) - len(path) - 1
    overlap = min(WINDOW_OVERLAP_TOKENS, room // 2)
    for start in range(0, max(len(second) - overlap, 1), room - overlap) if second else ():
        token = max(min(start, len(second) - room), 0)
        ids = [*start_ids, *path, *second[token : token + room], closing]
        yield TokenWindow(ids, len(start_ids), len(start_ids) + len(path), token)


class TokenSpan(NamedTuple):
    """Tokens `first` to `last`, and their share of the probability of all possible answers."""

    first: int
    last: int
    share: float


def find_answer_spans(
    start: NDArray[np.float32], end: NDArray[np.float32], words: Sequence[int | None]
) -> list[TokenSpan]:
    """Returns the most probable answers in whole words, best first, without overlaps.

    A span gets the share of every answer that overlaps it, because they differ only in their boundaries.
    """
    pairs = np.tril(np.triu(np.outer(_softmax(start), _softmax(end))), MAX_SPAN_TOKENS - 1)
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
    return sorted(found, key=lambda span: -span.share)


def include_combining_marks(text: str, start: int, end: int) -> tuple[int, int]:
    """Extends a span by the marks of its last character, which tokens leave out."""
    while end < len(text) and unicodedata.category(text[end]) in _COMBINING_CATEGORIES:
        end += 1
    return start, end


def _softmax(logits: NDArray[np.float32]) -> NDArray[np.float64]:
    odds = np.exp(logits.astype(np.float64) - logits.max())
    shares: NDArray[np.float64] = odds / odds.sum()
    return shares


def logistic_probability(weights: Mapping[str, float], features: Mapping[str, float]) -> float:
    values = {**features, "constant": 1.0}
    return 1 / (1 + exp(-min(max(sum(weight * values[name] for name, weight in weights.items()), -50), 50)))


def log_odds(p: float) -> float:
    p = min(max(p, MIN_PROBABILITY), 1 - MIN_PROBABILITY)
    return log(p / (1 - p))
