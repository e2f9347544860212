"""What the readings of all passages together say about a question: is its answer among them?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import exp, log

from bookbound.book import Passage
from bookbound.finding import Reading
from bookbound.judge.pointing import places, similarity
from bookbound.words import terms

SUREST = 1e-4
Features = dict[str, float]


def question_features(question: str, passages: Sequence[Passage], readings: Sequence[Reading]) -> Features:
    """Figures of a question whose passages, in the search's order, were read; there is at least one.

    best: the log-odds of the likeliest reading. sharpness: the share of its first span.
    score, rank: the cosine of its passage, and how far down the search had it (as a logarithm).
    length: how many terms the question has (as a logarithm).
    """
    at = max(range(len(readings)), key=lambda i: readings[i].probability)
    best = readings[at]
    first = best.spans[0].probability / best.probability if best.spans and best.probability else 0.0
    return {
        "best": odds(best.probability),
        "sharpness": first,
        "score": similarity(passages[at]),
        "rank": log(1 + (places(passages)[at] or 0)),
        "length": log(1 + len(terms(question))),
    }


def placed(weights: Mapping[str, float], reading: Reading, place: int | None) -> Reading:
    """A reading weighed by how far down the search, from 0, had its passage: what is found early answers more often."""
    if not reading.probability or place is None:
        return reading
    weighed = probability(weights, {"odds": odds(reading.probability), "place": log(1 + place)})
    shares = [min(span.probability / reading.probability, 1.0) for span in reading.spans]
    spans = [replace(span, probability=weighed * share) for span, share in zip(reading.spans, shares, strict=True)]
    return Reading(weighed, tuple(spans))


def probability(weights: Mapping[str, float], features: Mapping[str, float]) -> float:
    """A logistic model's opinion, by the features that it weighs."""
    given = {**features, "constant": 1.0}
    return 1 / (1 + exp(-min(max(sum(weight * given[name] for name, weight in weights.items()), -50), 50)))


def odds(p: float) -> float:
    p = min(max(p, SUREST), 1 - SUREST)
    return log(p / (1 - p))
