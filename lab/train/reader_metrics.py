"""Measures a reader on held-out data, the same way for PyTorch and for the shipped network."""

from __future__ import annotations

import random
import re
import string
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeVar

import numpy as np

from lab.train.batches import Array, Example, ExampleBuilder, Row
from lab.train.constants import TWIN_SOURCES

MAX_SPAN_TOKENS = 60
T = TypeVar("T")
Logits = tuple[list[Array], list[Array], Array, Array]
"""The logits of examples: starts and ends (one row per example), answers, supported."""
Predict = Callable[[Sequence[Example]], Logits]
SEED = 7


NOT_AVERAGED = ("book_claims", "contrasting", "fever_symmetric", *TWIN_SOURCES)
"""The claims that are not counted in the mean of the other sets."""


class HeldOut(NamedTuple):
    """The held-out rows; questions about books keep their number in the data, which their hard negatives have too."""

    books: list[tuple[int, Row]]
    squad: list[Row]
    claims: list[Row]

    @classmethod
    def select(cls, reading: Sequence[Row], support: Sequence[Row], sample: int | None = None) -> HeldOut:
        """All held-out rows, or at most `sample` of the books, of SQuAD and of each source of claims."""
        rng = random.Random(SEED)
        tested = [row for row in support if row["part"] == "test"]
        by_source = [[row for row in tested if row["source"] == name] for name in sorted({r["source"] for r in tested})]
        numbered = [
            (i, row) for i, row in enumerate(reading) if row["part"] == "test" and row["source"] == "book_reading"
        ]
        squad = [row for row in reading if row["source"] == "squad2_dev_B"]
        claims = [row for rows in by_source for row in _sample(rows, sample, rng)]
        return cls(_sample(numbered, sample, rng), _sample(squad, sample, rng), claims)


def _sample(rows: list[T], size: int | None, rng: random.Random) -> list[T]:
    return rows if size is None or size >= len(rows) else rng.sample(rows, size)


def auc(good: Array, bad: Array) -> float:
    """The probability that a positive scores above a negative; not a number if there is no pair of them."""
    if not len(good) or not len(bad):
        return float("nan")
    scores = np.concatenate([good, bad])
    order = scores.argsort(kind="stable")
    ranks = np.empty(len(scores))
    ranks[order] = np.arange(1, len(scores) + 1)
    for value in np.unique(scores[np.concatenate([[False], np.diff(np.sort(scores)) == 0])]):
        ranks[scores == value] = ranks[scores == value].mean()
    n = len(good)
    return float((ranks[:n].sum() - n * (n + 1) / 2) / (n * len(bad)))


def best_span(starts: Array, ends: Array) -> tuple[int, int]:
    """The most probable first and last token."""
    both = starts[:, None] + ends[None, :]
    both[~np.triu(np.tril(np.ones_like(both, bool), MAX_SPAN_TOKENS))] = -np.inf
    first, last = np.unravel_index(int(both.argmax()), both.shape)
    return int(first), int(last)


def word_f1(predicted: str, expected: str) -> float:
    """The word F1 of two answers, without articles and punctuation."""
    one, other = _normalized_words(predicted), _normalized_words(expected)
    if not one or not other:
        return float(one == other)
    same = sum((Counter(one) & Counter(other)).values())
    return 2 * same / (len(one) + len(other))


def _normalized_words(text: str) -> list[str]:
    text = "".join(letter for letter in text.lower() if letter not in string.punctuation)
    return re.sub(r"\b(a|an|the)\b", " ", text).split()


class ReaderMetrics:
    """Measures one reader on held-out data."""

    def __init__(self, builder: ExampleBuilder, predict: Predict, support_threshold: float) -> None:
        self._builder, self._predict, self._support_threshold = builder, predict, support_threshold

    def measure_books(self, reading: Sequence[tuple[int, Row]]) -> dict[str, float]:
        """Near misses, spans and most similar other passages in held-out books."""
        own = [self._builder.reading_example(row["question"], row["passage"], row) for _, row in reading]
        starts, ends, answers, _ = self._predict(own)
        answerable = np.array([row["answerable"] for _, row in reading])
        groups = np.array([row["group"] for _, row in reading])
        spans = [
            self.span_f1(row, own[i], starts[i], ends[i]) for i, (_, row) in enumerate(reading) if row["answerable"]
        ]
        asked = [(i, row) for i, row in reading if row["answerable"] and self._builder.negatives.get(i)]
        others = [
            self._builder.reading_example(row["question"], self._builder.negatives[i][0], None) for i, row in asked
        ]
        other_answers = self._predict(others)[2]
        figures = {
            "near misses, AUC": auc(answers[answerable], answers[~answerable]),
            "most similar other passage, AUC": auc(answers[answerable], other_answers),
            "span F1": float(np.mean(spans)),
        }
        for book in sorted(set(groups)):
            here = groups == book
            figures[f"near misses, AUC: {book}"] = auc(answers[here & answerable], answers[here & ~answerable])
        return figures

    def span_f1(self, row: Row, example: Example, starts: Array, ends: Array) -> float:
        predicted = self.predicted_text(row, example, starts, ends)
        text = self._builder.passages[row["passage"]]["text"]
        return max(word_f1(predicted, text[start:end]) for start, end in row["spans"])

    def predicted_text(self, row: Row, example: Example, starts: Array, ends: Array) -> str:
        """The text of the most probable span."""
        passage = self._builder.passages[row["passage"]]
        _, offsets = self._builder.tokens[passage["text"]]
        shift = example.second_start + len(self._builder.heading_tokens(row["passage"]))
        stop = len(example.ids) - 1
        first, last = best_span(starts[shift:stop], ends[shift:stop])
        return str(passage["text"][offsets[first][0] : offsets[last][1]])

    def measure_squad(self, reading: Sequence[Row]) -> dict[str, float]:
        """F1 with a forced answer, and at the best threshold with refusals."""
        own = [self._builder.reading_example(row["question"], row["passage"], row) for row in reading]
        starts, ends, answers, _ = self._predict(own)
        score = np.array(
            [
                self.span_f1(row, own[i], starts[i], ends[i]) if row["answerable"] else 0.0
                for i, row in enumerate(reading)
            ]
        )
        answerable = np.array([row["answerable"] for row in reading])
        order = answers.argsort()[::-1]
        answered = np.concatenate([[0.0], np.cumsum(score[order])])
        refused = np.concatenate([[(~answerable).sum()], (~answerable).sum() - np.cumsum(~answerable[order])])
        return {
            "SQuAD 2.0 half B, best F1": float((answered + refused).max() / len(reading)),
            "SQuAD 2.0 half B, HasAns F1 forced": float(score[answerable].mean()),
            "SQuAD 2.0 half B, AUC": auc(answers[answerable], answers[~answerable]),
        }

    def measure_claims(self, support: Sequence[Row]) -> dict[str, float]:
        """Balanced accuracy of the verifier for each source."""
        logits = self._predict([self._builder.claim_example(row) for row in support])[3]
        predictions = logits > self._support_threshold
        figures: dict[str, float] = {}
        by_source: dict[str, list[tuple[bool, bool]]] = defaultdict(list)
        for row, prediction in zip(support, predictions, strict=True):
            by_source[row["source"]].append((row["supported"], bool(prediction)))
        for source, found in sorted(by_source.items()):
            figures[f"claims: {source}"] = balanced_accuracy(found)
        for source in {"book_claims", "contrasting", *TWIN_SOURCES} & {*by_source}:
            here = np.array([row["source"] == source for row in support])
            true = np.array([row["supported"] for row in support])
            figures[f"{source}, kept at 2 % false"] = kept_share(logits[here & true], logits[here & ~true], 0.02)
        rest = [
            value
            for name, value in figures.items()
            if name.startswith("claims: ") and name.removeprefix("claims: ") not in NOT_AVERAGED
        ]
        return figures | {"claims: mean of the other sets": float(np.mean(rest))}


def kept_share(true: Array, false: Array, passed: float) -> float:
    """The share of the true claims above the logit that this share of the false ones passes."""
    return float((true > np.quantile(false, 1 - passed)).mean())


def balanced_accuracy(found: Sequence[tuple[bool, bool]]) -> float:
    return float(
        np.mean([np.mean([said == label for truth, said in found if truth == label]) for label in (True, False)])
    )


def measure_reader(
    builder: ExampleBuilder, predict: Predict, held_out: HeldOut, support_threshold: float = 0.0
) -> dict[str, Any]:
    """All metrics; a claim counts as supported if its logit is above `support_threshold`."""
    metrics = ReaderMetrics(builder, predict, support_threshold)
    figures = metrics.measure_books(held_out.books) | metrics.measure_squad(held_out.squad)
    figures |= metrics.measure_claims(held_out.claims)
    return {name: round(value, 4) for name, value in figures.items()}
