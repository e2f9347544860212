"""`python -m training.calibrate`: turns the reader's logits into probabilities, fitted on the held-out books.

There are four small models: whether a passage answers and whether a claim is supported (a scale and a shift each), how
the search rank of a passage changes its reading, and whether the answer is right, from the readings of all passages.
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
from training.batches import NEGATIVES, ExampleBuilder, Row, load_rows
from training.evaluate import OnnxReader
from training.held_out_index import RELEVANCE_THRESHOLD, HeldOutIndex, QuestionReading
from training.reader_metrics import auc

from bookbound.answering.reading.answerability import QuestionFeatures
from bookbound.answering.reading.cross_encoder import log_odds, logistic_probability

Array = NDArray[Any]
SEED, FOREIGN_QUESTION_COUNT = 7, 100
MODELS = Path("src/bookbound/models")
RANK_FEATURES, QUESTION_FEATURES = ("odds", "place"), ("best", "sharpness", "score", "rank", "length")


def fit_logistic(table: Array, labels: Array, ridge: float = 1.0) -> Array:
    """Logistic weights by Newton's method, the constant last; the ridge applies to standardised features."""
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


def fit_scale(logits: Array, labels: Array) -> dict[str, float]:
    slope, constant = fit_logistic(logits[:, None], labels)
    return {"scale": round(float(slope), 4), "shift": round(float(constant), 4)}


def calibrate_passages(builder: ExampleBuilder, network: OnnxReader, reading: list[Row]) -> dict[str, float]:
    """Fits on passages that answer, near misses and the most similar other passages."""
    own = [builder.reading_example(row["question"], row["passage"], row) for row in reading]
    asked = [(i, row) for i, row in enumerate(reading) if row["answerable"] and builder.negatives.get(i)]
    others = [builder.reading_example(row["question"], builder.negatives[i][0], None) for i, row in asked]
    labels = [row["answerable"] for row in reading] + [False] * len(others)
    return fit_scale(network([*own, *others])[2], np.array(labels, float))


def calibrate_claims(builder: ExampleBuilder, network: OnnxReader, support: list[Row]) -> dict[str, float]:
    """Fits on claims about books, as many supported as unsupported."""
    logits = network([builder.claim_example(row) for row in support])[3]
    labels = np.array([row["supported"] for row in support])
    unsupported = random.Random(SEED).sample(list(np.flatnonzero(~labels)), int(labels.sum()))
    chosen = np.array([*np.flatnonzero(labels), *unsupported])
    return fit_scale(logits[chosen], labels[chosen].astype(float))


def fit_rank_weights(readings: Sequence[QuestionReading]) -> dict[str, float]:
    """The weights of a reading's log-odds and of the passage's search rank."""
    pairs = [
        (log_odds(passage.probability), np.log(1 + rank))
        for reading in readings
        for rank, passage in enumerate(reading.assessments)
    ]
    labels = [has_answer for reading in readings for has_answer in reading.has_answer]
    return name_weights(RANK_FEATURES, fit_logistic(np.array(pairs), np.array(labels, float)))


def name_weights(names: Sequence[str], weights: Array) -> dict[str, float]:
    return dict(zip((*names, "constant"), (round(float(w), 5) for w in weights), strict=True))


def fit_question_weights(
    features: Sequence[QuestionFeatures], readings: Sequence[QuestionReading], is_right: Sequence[bool]
) -> tuple[dict[str, float], dict[str, float]]:
    """The weights of a question's features, and the AUC on each book with weights fitted on the others."""
    table = np.array([[each[name] for name in QUESTION_FEATURES] for each in features])
    labels = np.array(is_right, float)
    books = np.array([reading.book for reading in readings])
    book_aucs = {}
    for book in sorted(set(books)):
        here = books == book
        if 20 < labels[here].sum() < here.sum():
            weights = fit_logistic(table[~here], labels[~here])
            scores = table[here] @ weights[:-1] + weights[-1]
            book_aucs[str(book)] = round(auc(scores[labels[here] == 1], scores[labels[here] == 0]), 4)
    weights = fit_logistic(table, labels)
    return name_weights(QUESTION_FEATURES, weights), book_aucs


def calibrate_logits(builder: ExampleBuilder, reading: list[Row], support: list[Row]) -> dict[str, Any]:
    """The scales of the two heads that decide about one pair of texts."""
    network = OnnxReader(MODELS / "reader-int8.onnx", threads=2)
    claims = [row for row in support if row["part"] == "test" and row["source"] == "book_claims"]
    return {
        "answers": calibrate_passages(builder, network, reading),
        "supported": calibrate_claims(builder, network, claims),
    }


def calibrate_questions(readings: Sequence[QuestionReading]) -> dict[str, Any]:
    """The weights of search ranks and of question features; prints how well they separate right answers."""
    rank_weights = fit_rank_weights(readings)
    features = [reading.features(rank_weights) for reading in readings]
    is_right = np.array([asyncio.run(reading.is_answered_right(rank_weights)) for reading in readings])
    print(f"{is_right.sum()} of {len(readings)} questions are answered right")
    question_weights, book_aucs = fit_question_weights(features, readings, is_right.tolist())
    for name, scores in (
        ("the best passage alone", np.array([each["best"] for each in features])),
        ("all features", np.array([logistic_probability(question_weights, each) for each in features])),
    ):
        print(f"AUC on the questions by {name}: {auc(scores[is_right], scores[~is_right]):.4f}")
    print("AUC on each book with weights fitted on the others:", book_aucs)
    return {"place": rank_weights, "question": question_weights}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sample", type=int, default=700, help="how many questions to ask for the last two models")
    options = parser.parse_args()
    rng = random.Random(SEED)
    rows = load_rows("reading")
    held_out = [i for i, row in enumerate(rows) if row["part"] == "test" and row["source"] == "book_reading"]
    reading = [rows[i] for i in held_out]
    negatives = json.loads(NEGATIVES.read_text())
    builder = ExampleBuilder.load(MODELS / "tokenizer.json", [], [])
    builder.negatives = {j: negatives[i] for j, i in enumerate(held_out)}
    fitted = calibrate_logits(builder, reading, load_rows("support"))
    print(fitted, flush=True)
    foreign = [row for row in rows if row["part"] == "train" and row["source"] == "book_reading"]
    asked = [(row, True) for row in rng.sample(reading, min(options.sample, len(reading)))]
    asked += [(row, False) for row in rng.sample(foreign, FOREIGN_QUESTION_COUNT)]
    file = MODELS / "reader.json"
    default = {"point": {"answered": 0.5, "relevant": RELEVANCE_THRESHOLD}}
    shipped = json.loads(file.read_text()) if file.exists() else default
    unweighted = {"place": {"constant": 0.0}, "question": {"constant": 0.0}}
    file.write_text(json.dumps(unweighted | shipped | fitted, indent=1) + "\n")  # the index below reads it
    with tempfile.TemporaryDirectory() as folder:
        fitted |= calibrate_questions(asyncio.run(HeldOutIndex(builder, reading, Path(folder)).read(asked)))
    file.write_text(json.dumps(shipped | fitted, indent=1) + "\n")
    print(fitted)


if __name__ == "__main__":
    main()
