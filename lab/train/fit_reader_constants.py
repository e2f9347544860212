"""`python -m lab.train.fit_reader_constants`: fits what turns logits into probabilities, and writes reader.json.

For each reader: the scale of its answer logit with the weight of the search rank, the weights of a question's features,
and those of a question about a selection. For the embedder: the map from cosines to scores. The readings are stored
ones; everything that is computed from them is the product's own code.
"""

from __future__ import annotations

import argparse
import asyncio
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace
from math import log
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bookbound.answering.reading.answerability import MIN_SCORE, QuestionFeatures
from bookbound.answering.reading.answering_words import WORDS_FEATURES
from bookbound.models.cross_encoder import CrossEncoder, LogitScale, ReaderName
from lab.train.asked_questions import AskedQuestion, load_questions
from lab.train.code_constants import NAME as CODE_CONSTANTS
from lab.train.code_constants import list_code_constants
from lab.train.constants import MODELS as MODELS
from lab.train.graded_questions import GradedQuestion, Grading, TracingAssessor, read_selection
from lab.train.reader_metrics import auc
from lab.train.recorded_readers import Constants, RecordedReaders

Array = NDArray[Any]
FEATURES: Mapping[ReaderName, tuple[str, ...]] = {
    "fast": ("best", "sharpness", "score", "rank", "length"),
    "strong": ("best", "sharpness", "score", "rank", "length", "fast", "agreement"),
}
SELECTION_FEATURES = ("best", "sharpness", "distance")
# The second round asks which readings are sure with the weights of the first, and changes few of them.
WORDS_ROUNDS = 2
ROLE_WEIGHTS = {"held_out": 1.0, "fitted": 3.0, "title": 1.0, "off_topic": 3.0}
SELECTION_WEIGHTS = {"selection": 2.0, "held_out_selection": 0.5}
SELECTION_RIDGE = 0.3
SELECTION_SHIFTS: Mapping[ReaderName, float] = {"fast": 1.4, "strong": 1.65}
"""Added to the constant by hand, so that more selections are answered."""
OFF_TOPIC_PERCENTILE, RIGHT_PERCENTILE, MIDDLE_SCORE = 70, 5, 0.5
"""So many off-topic messages find only passages below `MIN_SCORE`, and so few right answers come from below 0.5."""
OpenReaders = Callable[[Mapping[str, Constants]], Mapping[ReaderName, CrossEncoder]]


def fit_logistic(table: Array, labels: Array, ridge: float = 1.0, weights: Array | None = None) -> Array:
    """Logistic weights by Newton's method, the constant last; the ridge applies to standardised features."""
    if not has_both(labels):
        raise SystemExit("All labels of a fit are equal. Ask more questions.")
    counts = np.ones(len(table)) if weights is None else weights
    mean, spread = table.mean(0), table.std(0) + 1e-9
    z = np.column_stack([(table - mean) / spread, np.ones(len(table))])
    w = np.zeros(z.shape[1])
    penalty = np.diag([ridge] * table.shape[1] + [0.0])
    for _ in range(60):
        p = 1 / (1 + np.exp(-np.clip(z @ w, -30, 30)))
        curvature = z.T @ (z * (counts * p * (1 - p))[:, None]) + penalty + 1e-9 * np.eye(len(w))
        step = np.linalg.solve(curvature, z.T @ (counts * (labels - p)) - penalty @ w)
        w += step
        if np.abs(step).max() < 1e-9:
            break
    slopes = w[:-1] / spread
    return np.array([*slopes, w[-1] - slopes @ mean])


def has_both(labels: Array) -> bool:
    return bool(len(labels) and labels.min() < labels.max())


def name_weights(names: Sequence[str], weights: Array) -> dict[str, float]:
    return dict(zip((*names, "constant"), (round(float(w), 4) for w in weights), strict=True))


async def fit_answer_scale(reader: CrossEncoder, asked: Sequence[AskedQuestion]) -> dict[str, Any]:
    """The scale of the answer logit and the weight of the search rank; `reader` returns raw logits."""
    table, labels = [], []
    for question in asked:
        for rank, reading in enumerate(await reader.read(question.text, [each.chunk for each in question.passages])):
            table.append((log(reading.probability) - np.log1p(-reading.probability), log(1 + rank)))
            labels.append(question.has_answer[rank])
    scale, place, shift = (round(float(w), 3) for w in fit_logistic(np.array(table), np.array(labels, float)))
    return {"answers": {"scale": scale, "shift": shift}, "rank": {"odds": 1.0, "place": place, "constant": 0.0}}


def fit_score_map(graded: Sequence[GradedQuestion]) -> LogitScale:
    """Maps low cosines below the gate, and those of nearly all right answers to 0.5 or more."""
    off_topic = [each.highest_cosine for each in graded if each.asked.role == "off_topic"]
    right = [each.best_cosine for each in graded if each.is_right and each.asked.role == "fitted"]
    if not off_topic or not right:
        raise SystemExit("There is no off-topic message or no right answer among the questions. Ask more of them.")
    low, middle = float(np.percentile(off_topic, OFF_TOPIC_PERCENTILE)), float(np.percentile(right, RIGHT_PERCENTILE))
    print(f"cosines: {low:.3f} of off-topic messages, {middle:.3f} of right answers")
    if middle <= low:
        raise SystemExit("Off-topic messages are as similar as right answers, so no score separates them.")
    scale = (log(MIDDLE_SCORE / (1 - MIDDLE_SCORE)) - log(MIN_SCORE / (1 - MIN_SCORE))) / (middle - low)
    return LogitScale(round(scale, 2), round(-scale * middle, 3))


def fit_question(graded: Sequence[GradedQuestion], names: Sequence[str], score: LogitScale) -> dict[str, float]:
    """The weights of a question's features; questions below the gate are left out, because the product reads none."""
    read = [each for each in graded if score.probability(each.highest_cosine) >= MIN_SCORE]
    table = make_table([each.features(score) for each in read], names)
    labels = np.array([each.is_right for each in read], float)
    weights = np.array([ROLE_WEIGHTS[each.asked.role] for each in read])
    print(f"{len(read)} of {len(graded)} questions pass the gate; {int(labels.sum())} are answered right")
    books = np.array([each.asked.book for each in read])
    for book in sorted(set(books)):
        here = books == book
        if has_both(labels[here]) and has_both(labels[~here]):
            found = table[here] @ fit_logistic(table[~here], labels[~here], weights=weights[~here])[:-1]
            area = auc(found[labels[here] == 1], found[labels[here] == 0])
            print(f"  {book}: AUC {area:.4f} with weights fitted on the other books")
    return name_weights(names, fit_logistic(table, labels, weights=weights))


def fit_selection(
    features: Sequence[QuestionFeatures], asked: Sequence[AskedQuestion], shift: float
) -> dict[str, float]:
    """The weights of a question about a selection: text that answers it against other text and near misses."""
    labels = np.array([each.has_answer[0] for each in asked], float)
    weights = np.array([SELECTION_WEIGHTS[each.role] for each in asked])
    fitted = fit_logistic(make_table(features, SELECTION_FEATURES), labels, SELECTION_RIDGE, weights)
    fitted[-1] += shift
    return name_weights(SELECTION_FEATURES, fitted)


def make_table(features: Sequence[QuestionFeatures], names: Sequence[str]) -> Array:
    return np.array([[each[name] for name in names] for each in features])


async def calibrate(
    asked: Sequence[AskedQuestion], open_readers: OpenReaders, relevance: float, score: LogitScale | None = None
) -> dict[str, Any]:
    """All constants, in the form of reader.json; the map from cosines to scores is fitted if none is given."""
    held_out = [each for each in asked if each.role == "held_out"]
    searched = [each for each in asked if each.role in ROLE_WEIGHTS]
    selections = [each for each in asked if each.role in SELECTION_WEIGHTS]
    raw = open_readers({})
    fitted: dict[str, Any] = {name: await fit_answer_scale(raw[name], held_out) for name in FEATURES}
    readers = open_readers(fitted)
    fast, strong = readers["fast"], readers["strong"]
    score = score or fit_score_map(await grade_all(searched, Grading(TracingAssessor(fast, strong), relevance)))
    fitted["score"] = asdict(score)
    deciding: dict[ReaderName, CrossEncoder | None] = {"fast": None, "strong": strong}
    for name, second in deciding.items():
        print(f"{name} reader decides:")
        fitted[name]["question"] = await fit_with_words(
            searched, Grading(TracingAssessor(fast, second), relevance, score), FEATURES[name]
        )
        if selections:
            features = [await read_selection(each, fast, second, score) for each in selections]
            fitted[name]["selection"] = fit_selection(features, selections, SELECTION_SHIFTS[name])
    return fitted


async def fit_with_words(asked: Sequence[AskedQuestion], grading: Grading, names: Sequence[str]) -> dict[str, float]:
    """The weights of a question's features with those of words that answer by their place.

    Weights without these words say first which readings are sure, because such readings keep their own words.
    """
    assert grading.score
    weights = fit_question(await grade_all(asked, grading), names, grading.score)
    names = (*names, *WORDS_FEATURES)
    for _ in range(WORDS_ROUNDS):
        graded = await grade_all(asked, replace(grading, weights={**dict.fromkeys(names, 0.0), **weights}))
        weights = fit_question(graded, names, grading.score)
        print({name: _count_right(graded, name) for name in WORDS_FEATURES})
    return weights


def _count_right(graded: Sequence[GradedQuestion], feature: str) -> str:
    labels = [each.is_right for each in graded if each.words and each.words.feature == feature]
    return f"{sum(labels)} of {len(labels)} right"


async def grade_all(asked: Sequence[AskedQuestion], grading: Grading) -> list[GradedQuestion]:
    return [found for each in asked if (found := await grading.grade(each))]


def update_constants(stored: dict[str, Any], fitted: Mapping[str, Any]) -> dict[str, Any]:
    """The stored constants with the fitted ones; those of claims and the operating point are fitted elsewhere."""
    readers: dict[str, Any] = {name: {**stored.get(name, {}), **fitted[name]} for name in FEATURES}
    return {**stored, **readers, "score": fitted["score"]}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=MODELS / "reader.json", help="the JSON to update")
    parser.add_argument("--keep-score", action="store_true", help="keep the stored map from cosines to scores")
    options = parser.parse_args()
    stored = json.loads(options.out.read_text(encoding="utf-8"))
    score = LogitScale(**stored["score"]) if options.keep_score else None
    fitted = asyncio.run(calibrate(load_questions(), RecordedReaders().open, stored["point"]["relevant"], score))
    constants = {**update_constants(stored, fitted), CODE_CONSTANTS: list_code_constants()}
    options.out.write_text(json.dumps(constants, indent=1) + "\n", encoding="utf-8")
    print(json.dumps(fitted, indent=1))


if __name__ == "__main__":
    main()
