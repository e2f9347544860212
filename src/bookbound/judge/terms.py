"""The first examiner: does a passage hold the words, names and numbers that the question asks about?

It compares words, so it tells what the book is about from what it is not, but not a near miss from a hit.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import exp, log
from pathlib import Path
from typing import Self

from bookbound.book import Manifest, Passage
from bookbound.finding import Examination, Reading, Span
from bookbound.judge import OperatingPoint
from bookbound.judge.pointing import SPANS, pointed, similarity
from bookbound.judge.sought import Sought
from bookbound.words import terms

MODEL = Path(__file__).parent.parent / "models" / "terms.json"
Features = dict[str, float]


@dataclass(frozen=True, slots=True)
class TermModel:
    """Fitted weights: for the sentence that answers, the passage that does, and the question that has an answer."""

    sentence: Mapping[str, float]
    passage: Mapping[str, float]
    question: Mapping[str, float]
    point: OperatingPoint

    @classmethod
    def shipped(cls, file: Path = MODEL) -> Self:
        """The weights that come with the package."""
        kept = json.loads(file.read_text(encoding="utf-8"))
        return cls(**kept["weights"], point=OperatingPoint(**kept["point"]))


class TermExaminer:
    """Examines by comparing words, with the weights of a model, in one book."""

    def __init__(self, model: TermModel, manifest: Manifest) -> None:
        self._model = model
        self._manifest = manifest

    async def examine(self, question: str, passages: Sequence[Passage]) -> Examination:
        return await asyncio.to_thread(self._examine, question, passages)

    def _examine(self, question: str, passages: Sequence[Passage]) -> Examination:
        if meant := pointed(question, passages):
            return meant
        sought = Sought.by(question, self._manifest.vocabulary, self._manifest.chunks)
        readings = tuple(self._read(sought, passage) for passage in passages)
        features = question_features(sought, [similarity(passage) for passage in passages], readings)
        return Examination(probability(self._model.question, features), readings)

    def _read(self, sought: Sought, passage: Passage) -> Reading:
        found = passage.chunk.units
        sentences = [sentence_features(sought, passage.chunk.text[start:end]) for _, start, end in found]
        passage_answers = probability(self._model.passage, passage_features(sought, passage, sentences))
        spans = [
            Span(start, end, passage_answers * probability(self._model.sentence, features))
            for (_, start, end), features in zip(found, sentences, strict=True)
        ]
        best = sorted(spans, key=lambda span: -span.probability)[:SPANS]
        return Reading(passage_answers, tuple(best))


def probability(weights: Mapping[str, float], features: Features) -> float:
    """A logistic model's opinion of some features."""
    return 1 / (1 + exp(-weights["constant"] - sum(weights[name] * value for name, value in features.items())))


def sentence_features(sought: Sought, sentence: str) -> Features:
    words = terms(sentence)
    return {
        "coverage": sought.coverage(set(words)),
        "named": sought.named(sentence),
        "quantified": sought.quantified(sentence),
        "length": log(1 + len(words)),
    }


def passage_features(sought: Sought, passage: Passage, sentences: Sequence[Features]) -> Features:
    text = passage.chunk.embedded
    words = set(terms(text))
    return {
        "score": similarity(passage),
        "coverage": sought.coverage(words),
        "sentence": max((features["coverage"] for features in sentences), default=0.0),
        "rarest": sought.rarest(words),
        "named": sought.named(text),
        "quantified": sought.quantified(text),
    }


def question_features(sought: Sought, scores: Sequence[float], readings: Sequence[Reading]) -> Features:
    best = sorted((reading.probability for reading in readings), reverse=True)
    return {
        "best": best[0] if best else 0.0,
        "second": best[1] if len(best) > 1 else 0.0,
        "score": max(scores, default=0.0),
        "length": log(1 + len(sought.weights)),
    }
