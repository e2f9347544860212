"""Fit the term examiner: `python -m training.terms READING [--out FILE]`, READING being a `book_reading.jsonl.gz`.

Every question is put to its own book, whose passages are searched by meaning; the labels say which passage and which
sentence answer it, or that none does. Questions of other books serve as questions off the topic. After a fit, choose
the operating point again: `python -m evals && python -m evals.calibrate`.
"""

from __future__ import annotations

import argparse
import asyncio
import gzip
import json
import random
from collections import Counter, defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from bookbound.book import Chunk, Passage, Place
from bookbound.embed.onnx import OnnxEmbedder
from bookbound.finding import Reading
from bookbound.judge.sought import Sought
from bookbound.judge.terms import (
    MODEL,
    Features,
    passage_features,
    probability,
    question_features,
    sentence_features,
)
from bookbound.sentences import sentences
from bookbound.words import terms

SEED, K, STRANGERS = 7, 5, 60
Row = dict[str, Any]


@dataclass
class Shelf:
    """One book of the set: its passages, its questions, and how often its terms occur."""

    texts: list[str]
    rows: list[Row]
    vocabulary: Counter[str]
    vectors: Any = None


def shelve(file: Path) -> dict[str, Shelf]:
    books: dict[str, list[Row]] = defaultdict(list)
    with gzip.open(file, "rt", encoding="utf-8") as lines:
        for line in lines:
            row = json.loads(line)
            books[row["book"]].append(row)
    shelves = {}
    for book, rows in sorted(books.items()):
        texts = sorted({row["context"] for row in rows})
        shelves[book] = Shelf(texts, rows, Counter(t for text in texts for t in set(terms(text))))
    return shelves


async def embed(shelves: dict[str, Shelf]) -> dict[str, Any]:
    """Vectors of every passage, kept on its shelf, and of every question."""
    embedder = OnnxEmbedder()
    for book, shelf in shelves.items():
        shelf.vectors = await embedder.embed(shelf.texts)
        print(f"  embedded {book}: {len(shelf.texts)} passages, {len(shelf.rows)} questions", flush=True)
    asked = sorted({row["question"] for shelf in shelves.values() for row in shelf.rows})
    return dict(zip(asked, await embedder.embed(asked), strict=True))


def found(shelf: Shelf, vector: Any) -> list[Passage]:
    """The passages nearest to a question."""
    scores = shelf.vectors @ vector
    return [_passage(shelf.texts[i], scores[i]) for i in np.argsort(-scores)[:K]]


def _passage(text: str, score: float) -> Passage:
    place = Place("", "", "", "", (), "", 0, len(text))
    return Passage(Chunk(text[:20], text, place, 0), float(np.clip(score, 0, 1)))


class Fit:
    """Examples of one logistic model, and the weights that fit them best."""

    def __init__(self) -> None:
        self.rows: list[Features] = []
        self.labels: list[bool] = []

    def add(self, features: Features, label: bool) -> None:
        self.rows.append(features)
        self.labels.append(label)

    def weights(self, ridge: float = 1.0, steps: int = 60) -> dict[str, float]:
        """Newton's method on the penalised likelihood, in standardised units; both labels weigh the same in all."""
        names = list(self.rows[0])
        x = np.array([list(row.values()) for row in self.rows])
        y = np.array(self.labels, float)
        share = np.where(y == 1, 0.5 / y.mean(), 0.5 / (1 - y.mean()))
        mean, spread = x.mean(0), x.std(0) + 1e-9
        z = np.column_stack([(x - mean) / spread, np.ones(len(x))])
        w = np.zeros(z.shape[1])
        penalty = np.diag([ridge] * len(names) + [0.0])
        for _ in range(steps):
            p = 1 / (1 + np.exp(-z @ w))
            slope = z.T @ (share * (y - p)) - penalty @ w
            step = np.linalg.solve(z.T @ (z * (share * p * (1 - p))[:, None]) + penalty, slope)
            w += step
            if np.abs(step).max() < 1e-9:
                break
        slopes = w[:-1] / spread
        fitted = {name: round(float(slope), 5) for name, slope in zip(names, slopes, strict=True)}
        return fitted | {"constant": round(float(w[-1] - slopes @ mean), 5)}

    def auc(self, weights: dict[str, float]) -> float:
        scores = np.array([probability(weights, row) for row in self.rows])
        order = scores.argsort()
        ranks = np.empty(len(order))
        ranks[order] = np.arange(1, len(order) + 1)
        y = np.array(self.labels)
        return float((ranks[y].sum() - y.sum() * (y.sum() + 1) / 2) / (y.sum() * (~y).sum()))


def fit(shelves: dict[str, Shelf], vectors: dict[str, Any]) -> tuple[dict[str, dict[str, float]], dict[str, float]]:
    rng = random.Random(SEED)
    parts = {"sentence": Fit(), "passage": Fit(), "question": Fit()}
    asked: list[tuple[Sought, list[Passage], bool]] = []
    everyone = [row["question"] for shelf in shelves.values() for row in shelf.rows]
    for shelf in shelves.values():
        for row in shelf.rows:
            sought = Sought.by(row["question"], shelf.vocabulary, len(shelf.texts))
            passages = found(shelf, vectors[row["question"]])
            learn(parts, sought, passages, row)
            there = row["answerable"] and any(p.chunk.text == row["context"] for p in passages)
            asked.append((sought, passages, there))
        own = {row["question"] for row in shelf.rows}
        for stranger in rng.sample([q for q in everyone if q not in own], STRANGERS * len(shelf.rows) // 100):
            sought = Sought.by(stranger, shelf.vocabulary, len(shelf.texts))
            passages = found(shelf, vectors[stranger])
            for passage in passages[:2]:
                parts["passage"].add(passage_features(sought, passage, _read(sought, passage)), False)
            asked.append((sought, passages, False))
    weights = {part: parts[part].weights() for part in ("sentence", "passage")}
    for sought, passages, there in asked:
        readings = [
            Reading(probability(weights["passage"], passage_features(sought, passage, _read(sought, passage))))
            for passage in passages
        ]
        parts["question"].add(question_features(sought, [p.score for p in passages], readings), there)
    weights["question"] = parts["question"].weights()
    return weights, {part: round(parts[part].auc(weights[part]), 4) for part in parts}


def learn(parts: dict[str, Fit], sought: Sought, passages: list[Passage], row: Row) -> None:
    """What one question teaches: its own passage answers or nearly does, the others found do not."""
    for passage in passages:
        own = passage.chunk.text == row["context"]
        read = _read(sought, passage)
        parts["passage"].add(passage_features(sought, passage, read), own and row["answerable"])
        if own and row["answerable"] and row.get("sentence"):
            for text, features in zip(_sentences(passage), read, strict=True):
                parts["sentence"].add(features, text in row["sentence"]["text"] or row["sentence"]["text"] in text)


def _read(sought: Sought, passage: Passage) -> list[Features]:
    return [sentence_features(sought, sentence) for sentence in _sentences(passage)]


def _sentences(passage: Passage) -> list[str]:
    return [passage.chunk.text[start:end] for _, start, end in sentences(passage.chunk.text)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("reading", type=Path)
    parser.add_argument("--out", type=Path, default=MODEL)
    options = parser.parse_args()
    shelves = shelve(options.reading)
    weights, auc = fit(shelves, asyncio.run(embed(shelves)))
    kept = json.loads(options.out.read_text()) if options.out.exists() else {}
    kept |= {"weights": weights, "auc_in_sample": auc}
    kept.setdefault("point", {"answered": 0.3, "relevant": 0.3})
    options.out.write_text(json.dumps(kept, indent=1) + "\n")
    print(json.dumps(kept, indent=1))


if __name__ == "__main__":
    main()
