"""`python -m training.calibrate`: what turns the reader's logits into probabilities, fitted on the books held out.

Four small models: whether a passage answers, whether a claim is supported (a scale and a shift each), how a passage's
place in the search weighs on its reading, and whether the answer that would be given is right, by what was read in all
the passages that were found for the question.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from training.batches import NEGATIVES, Library, Row, library, rows
from training.evaluate import Network
from training.measure import auc
from training.shelf import RELEVANT, Read, Shelf

from bookbound.answering.reading.answerability import QuestionFeatures
from bookbound.answering.reading.cross_encoder import log_odds, logistic_probability

Array = NDArray[Any]
SEED, STRANGERS = 7, 100
FILES = Path("src/bookbound/models")
PLACE, WEIGHED = ("odds", "place"), ("best", "sharpness", "score", "rank", "length")


def fit(table: Array, labels: Array, ridge: float = 1.0) -> Array:
    """Logistic weights by Newton's method, the constant last; the ridge holds in standardised units."""
    mean, spread = table.mean(0), table.std(0) + 1e-9
    z = np.column_stack([(table - mean) / spread, np.ones(len(table))])
    w = np.zeros(z.shape[1])
    penalty = np.diag([ridge] * table.shape[1] + [0.0])
    for _ in range(60):
        p = 1 / (1 + np.exp(-z @ w))
        step = np.linalg.solve(z.T @ (z * (p * (1 - p))[:, None]) + penalty, z.T @ (labels - p) - penalty @ w)
        w += step
        if np.abs(step).max() < 1e-9:
            break
    slopes = w[:-1] / spread
    return np.array([*slopes, w[-1] - slopes @ mean])


def scale(logits: Array, labels: Array) -> dict[str, float]:
    slope, constant = fit(logits[:, None], labels)
    return {"scale": round(float(slope), 4), "shift": round(float(constant), 4)}


def passages(kept: Library, network: Network, reading: list[Row]) -> dict[str, float]:
    """Own passages that answer against near misses and the most similar others."""
    own = [kept.example(row["question"], row["passage"], row) for row in reading]
    asked = [(i, row) for i, row in enumerate(reading) if row["answerable"] and kept.negatives.get(i)]
    others = [kept.example(row["question"], kept.negatives[i][0], None) for i, row in asked]
    labels = [row["answerable"] for row in reading] + [False] * len(others)
    return scale(network([*own, *others])[2], np.array(labels, float))


def claims(kept: Library, network: Network, support: list[Row]) -> dict[str, float]:
    """Claims of the books, supported and not weighing the same."""
    found = network([kept.claim(row) for row in support])[3]
    labels = np.array([row["supported"] for row in support])
    even = random.Random(SEED).sample(list(np.flatnonzero(~labels)), int(labels.sum()))
    chosen = np.array([*np.flatnonzero(labels), *even])
    return scale(found[chosen], labels[chosen].astype(float))


def place(found: Sequence[Read]) -> dict[str, float]:
    """How the odds of a reading and its passage's place in the search together tell what answers."""
    pairs = [
        (log_odds(reading.probability), np.log(1 + i)) for read in found for i, reading in enumerate(read.readings)
    ]
    labels = [holds for read in found for holds in read.holding]
    return named(PLACE, fit(np.array(pairs), np.array(labels, float)))


def named(names: Sequence[str], weights: Array) -> dict[str, float]:
    return dict(zip((*names, "constant"), (round(float(w), 5) for w in weights), strict=True))


def question(
    features: Sequence[QuestionFeatures], found: Sequence[Read], right: Sequence[bool]
) -> tuple[dict[str, float], dict[str, float]]:
    """The weights of a question's features, and how well those fitted on the other books tell each book's questions."""
    table = np.array([[each[name] for name in WEIGHED] for each in features])
    labels = np.array(right, float)
    books = np.array([read.book for read in found])
    held_out = {}
    for book in sorted(set(books)):
        here = books == book
        if 20 < labels[here].sum() < here.sum():
            weights = fit(table[~here], labels[~here])
            said = table[here] @ weights[:-1] + weights[-1]
            held_out[str(book)] = round(auc(said[labels[here] == 1], said[labels[here] == 0]), 4)
    weights = fit(table, labels)
    return named(WEIGHED, weights), held_out


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sample", type=int, default=700, help="questions to ask for the last two of the four")
    options = parser.parse_args()
    rng = random.Random(SEED)
    everything, support = rows("reading"), rows("support")
    kept = library(FILES / "tokenizer.json", [], [])
    held = [(i, r) for i, r in enumerate(everything) if r["part"] == "test" and r["source"] == "book_reading"]
    negatives = json.loads(NEGATIVES.read_text())
    kept.negatives = {j: negatives[i] for j, (i, _) in enumerate(held)}
    reading = [row for _, row in held]
    network = Network(FILES / "reader-int8.onnx", threads=2)
    fitted: dict[str, Any] = {
        "answers": passages(kept, network, reading),
        "supported": claims(
            kept, network, [row for row in support if row["part"] == "test" and row["source"] == "book_claims"]
        ),
    }
    print(fitted, flush=True)
    strangers = [r for r in everything if r["part"] == "train" and r["source"] == "book_reading"]
    asked = [(row, True) for row in rng.sample(reading, min(options.sample, len(reading)))]
    asked += [(row, False) for row in rng.sample(strangers, STRANGERS)]
    file = FILES / "reader.json"
    shipped = json.loads(file.read_text()) if file.exists() else {"point": {"answered": 0.5, "relevant": RELEVANT}}
    file.write_text(
        json.dumps({"place": {"constant": 0.0}, "question": {"constant": 0.0}} | shipped | fitted, indent=1) + "\n"
    )
    with tempfile.TemporaryDirectory() as folder:
        found = asyncio.run(Shelf(kept, reading, Path(folder)).read(asked))
    fitted["place"] = place(found)
    features = [read.features(fitted["place"]) for read in found]
    there = np.array([asyncio.run(read.right(fitted["place"])) for read in found])
    print(f"{there.sum()} of {len(found)} questions would be answered right")
    fitted["question"], held_out = question(features, found, there.tolist())
    for name, said in (
        ("the best passage alone", np.array([each["best"] for each in features])),
        ("all of it", np.array([logistic_probability(fitted["question"], each) for each in features])),
    ):
        print(f"AUC of the questions by {name}: {auc(said[there], said[~there]):.4f}")
    print("AUC of each book by weights fitted on the others:", held_out)
    file.write_text(json.dumps(shipped | fitted, indent=1) + "\n")
    print(fitted)


if __name__ == "__main__":
    main()
