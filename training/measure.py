"""How well a reader reads what it was not trained on: the same figures for PyTorch and for the shipped network."""

from __future__ import annotations

import re
import string
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from training.batches import Array, Example, Library, Row

LONGEST_SPAN = 60
# The logits of some examples: starts and ends (a row each, as long as the example), answers, supported.
Logits = tuple[list[Array], list[Array], Array, Array]
Predict = Callable[[Sequence[Example]], Logits]


def auc(good: Array, bad: Array) -> float:
    """How often a good one scores above a bad one."""
    scores = np.concatenate([good, bad])
    order = scores.argsort(kind="stable")
    ranks = np.empty(len(scores))
    ranks[order] = np.arange(1, len(scores) + 1)
    for value in np.unique(scores[np.concatenate([[False], np.diff(np.sort(scores)) == 0])]):
        ranks[scores == value] = ranks[scores == value].mean()
    n = len(good)
    return float((ranks[:n].sum() - n * (n + 1) / 2) / (n * len(bad)))


def best_span(starts: Array, ends: Array) -> tuple[int, int]:
    """The likeliest first and last token."""
    both = starts[:, None] + ends[None, :]
    both[~np.triu(np.tril(np.ones_like(both, bool), LONGEST_SPAN))] = -np.inf
    first, last = np.unravel_index(int(both.argmax()), both.shape)
    return int(first), int(last)


def f1(said: str, meant: str) -> float:
    """The overlap of two answers in words, without articles and punctuation."""
    one, other = _plain(said), _plain(meant)
    if not one or not other:
        return float(one == other)
    same = sum((Counter(one) & Counter(other)).values())
    return 2 * same / (len(one) + len(other))


def _plain(text: str) -> list[str]:
    text = "".join(letter for letter in text.lower() if letter not in string.punctuation)
    return re.sub(r"\b(a|an|the)\b", " ", text).split()


class Sheet:
    """The figures of one reader on what was held out."""

    def __init__(self, library: Library, predict: Predict, supported: float) -> None:
        self._library, self._predict, self._supported = library, predict, supported

    def books(self, reading: Sequence[tuple[int, Row]]) -> dict[str, float]:
        """Near misses, spans and most similar others, in books held out whole."""
        own = [self._library.example(row["question"], row["passage"], row) for _, row in reading]
        starts, ends, answers, _ = self._predict(own)
        there = np.array([row["answerable"] for _, row in reading])
        groups = np.array([row["group"] for _, row in reading])
        spans = [
            self.overlap(row, own[i], starts[i], ends[i]) for i, (_, row) in enumerate(reading) if row["answerable"]
        ]
        asked = [(i, row) for i, row in reading if row["answerable"] and self._library.negatives.get(i)]
        others = [self._library.example(row["question"], self._library.negatives[i][0], None) for i, row in asked]
        strange = self._predict(others)[2]
        figures = {
            "near misses, AUC": auc(answers[there], answers[~there]),
            "most similar other passage, AUC": auc(answers[there], strange),
            "span F1": float(np.mean(spans)),
        }
        for book in sorted(set(groups)):
            here = groups == book
            figures[f"near misses, AUC: {book}"] = auc(answers[here & there], answers[here & ~there])
        return figures

    def overlap(self, row: Row, example: Example, starts: Array, ends: Array) -> float:
        said = self.words(row, example, starts, ends)
        text = self._library.passages[row["passage"]]["text"]
        return max(f1(said, text[start:end]) for start, end in row["spans"])

    def words(self, row: Row, example: Example, starts: Array, ends: Array) -> str:
        """The words that the likeliest span stands for."""
        passage = self._library.passages[row["passage"]]
        _, offsets = self._library.words[passage["text"]]
        shift = example.second + len(self._library.over(row["passage"]))
        stop = len(example.ids) - 1
        first, last = best_span(starts[shift:stop], ends[shift:stop])
        return str(passage["text"][offsets[first][0] : offsets[last][1]])

    def squad(self, reading: Sequence[Row]) -> dict[str, float]:
        """F1 when an answer is forced, and at the best threshold with refusals counted."""
        own = [self._library.example(row["question"], row["passage"], row) for row in reading]
        starts, ends, answers, _ = self._predict(own)
        score = np.array(
            [
                self.overlap(row, own[i], starts[i], ends[i]) if row["answerable"] else 0.0
                for i, row in enumerate(reading)
            ]
        )
        there = np.array([row["answerable"] for row in reading])
        order = answers.argsort()[::-1]
        answered = np.concatenate([[0.0], np.cumsum(score[order])])
        refused = np.concatenate([[(~there).sum()], (~there).sum() - np.cumsum(~there[order])])
        return {
            "SQuAD 2.0 half B, best F1": float((answered + refused).max() / len(reading)),
            "SQuAD 2.0 half B, HasAns F1 forced": float(score[there].mean()),
            "SQuAD 2.0 half B, AUC": auc(answers[there], answers[~there]),
        }

    def claims(self, support: Sequence[Row]) -> dict[str, float]:
        """Balanced accuracy of the verifier, source by source."""
        said = self._predict([self._library.claim(row) for row in support])[3] > self._supported
        figures: dict[str, float] = {}
        by: dict[str, list[tuple[bool, bool]]] = defaultdict(list)
        for row, opinion in zip(support, said, strict=True):
            by[row["source"]].append((row["supported"], bool(opinion)))
        for source, found in sorted(by.items()):
            figures[f"claims: {source}"] = balanced(found)
        rest = [
            value for name, value in figures.items() if name not in ("claims: book_claims", "claims: fever_symmetric")
        ]
        return figures | {"claims: mean of the other sets": float(np.mean(rest))}


def balanced(found: Sequence[tuple[bool, bool]]) -> float:
    return float(
        np.mean([np.mean([said == label for truth, said in found if truth == label]) for label in (True, False)])
    )


def all_figures(
    library: Library, predict: Predict, reading: list[Row], support: list[Row], supported: float = 0.0
) -> dict[str, Any]:
    """Every figure; from the logit `supported` on a claim counts as supported."""
    sheet = Sheet(library, predict, supported)
    books = [(i, row) for i, row in enumerate(reading) if row["part"] == "test" and row["source"] == "book_reading"]
    figures = sheet.books(books) | sheet.squad([row for row in reading if row["source"] == "squad2_dev_B"])
    figures |= sheet.claims([row for row in support if row["part"] == "test"])
    return {name: round(value, 4) for name, value in figures.items()}
