"""What the readings of all passages together say about a question: is its answer among them?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import exp, log

from bookbound.book import Passage
from bookbound.finding import Reading
from bookbound.judge.pointing import similarity
from bookbound.words import terms

SUREST = 1e-4
Features = dict[str, float]


def question_features(question: str, passages: Sequence[Passage], readings: Sequence[Reading]) -> Features:
    """Figures of a question whose passages, in the search's order, were read; there is at least one.

    best, second, third: the log-odds of the likeliest readings.
    sharpness: the share of the best reading's first span; `spans`: how many it has.
    score, rank: the cosine of the passage read as best, and how far down the search had it (as a logarithm).
    top: the best cosine. length: how many terms the question has (as a logarithm).
    """
    order = sorted(range(len(readings)), key=lambda i: -readings[i].probability)
    likeliest = [_odds(readings[i].probability) for i in order[:3]]
    likeliest += [_odds(0.0)] * (3 - len(likeliest))
    best = readings[order[0]]
    first = best.spans[0].probability / best.probability if best.spans and best.probability else 0.0
    return {
        "best": likeliest[0],
        "second": likeliest[1],
        "third": likeliest[2],
        "sharpness": first,
        "spans": float(len(best.spans)),
        "score": similarity(passages[order[0]]),
        "rank": log(1 + order[0]),
        "top": max(map(similarity, passages)),
        "length": log(1 + len(terms(question))),
    }


def probability(weights: Mapping[str, float], features: Mapping[str, float]) -> float:
    """A logistic model's opinion, by the features that it weighs."""
    given = {**features, "constant": 1.0}
    return 1 / (1 + exp(-min(max(sum(weight * given[name] for name, weight in weights.items()), -50), 50)))


def _odds(p: float) -> float:
    p = min(max(p, SUREST), 1 - SUREST)
    return log(p / (1 - p))
