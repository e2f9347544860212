"""`python -m lab.train.fit_support_threshold`: fits when a paraphrase counts as supported by the strong reader.

The data are held-out claims about books, those of `lab/measure/claims.jsonl` and `lab/measure/drafts.jsonl`, and the
development part of `lab/measure/hostile.jsonl`. The constant is such that at most `--max-false-share` of the false
drafts are shown: those of `drafts.jsonl` and the held-out twins in their style, because a language model with the
product's prompt writes such sentences.

The shipped network reads them in about two hours. With a GPU it takes minutes: `--list` writes the rows of tokens to
read, `python -m lab.train.claim_readings` reads them, and this module finds what was read.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from bookbound.answering.grounding.verifier import CrossEncoderVerifier, check_paraphrase, find_verbatim
from bookbound.models import CONSTANTS_FILE, STRONG_READER_FILE, load_constants
from bookbound.models.cross_encoder import CrossEncoder
from bookbound.models.onnx import ModelRuntime, Network
from lab.measure.hostile_cases import Case, build_claim_case, load_cases, load_claims
from lab.measure.question_sets import MEASURE
from lab.train.batches import Array, load_rows
from lab.train.fit_reader_constants import MODELS, fit_logistic, name_weights
from lab.train.recorded_claims import CLAIM_LOGITS, CLAIM_ROWS, RowCollector, load_claim_network
from lab.train.recorded_readers import RecordedModels

FEATURES = ("whole", "context", "quantifiers")
HELD_OUT_SOURCES = ("contrasting", "book_claims", "draft_twins")
CLAIM_FILES = (MEASURE / "claims.jsonl", MEASURE / "drafts.jsonl")
DRAFT_SOURCES = ("drafts", "draft_twins")
MIN_FALSE_SHOWN = 4
"""The threshold rests on at least so many of the false drafts."""
FALSE_SHARES = (0.01, 0.02, 0.03)
MAX_FALSE_SHARE = 0.0115
"""With it, 1.6 % of the false sentences of `drafts.jsonl` are shown; the held-out twins are harder to rank."""
SEED = 7


def load_paraphrases(sample: int) -> list[Case]:
    """Held-out claims, those of two files and hostile sentences of part `dev`; at most `sample` of each."""
    rng, cases = random.Random(SEED), list[Case]()
    rows = [row for row in load_rows("support") if row["part"] == "test"]
    for source in HELD_OUT_SOURCES:
        found = [row for row in rows if row["source"] == source]
        for number, row in enumerate(rng.sample(found, min(sample, len(found)))):
            cases.append(build_claim_case(row | {"book": source, "id": str(number)}, source, source))
    hostile = [case for case in load_cases() if case.part == "dev" and case.evidence]
    for found_cases in (hostile, *map(load_claims, CLAIM_FILES)):
        cases += rng.sample(found_cases, min(sample, len(found_cases)))
    return [case for case in cases if not find_verbatim(case.text, case.evidence)]


async def read_paraphrases(cases: Sequence[Case], reader: CrossEncoder) -> list[dict[str, Any]]:
    """Each sentence with its features, or with none if an exact check rejects it."""
    verifier, rows = CrossEncoderVerifier(reader), list[dict[str, Any]]()
    for number, case in enumerate(cases, 1):
        checked = check_paraphrase(case.text, case.evidence)
        features = await verifier.compute_features(case.text, checked) if checked else None
        rows.append({"source": case.part, "true": case.true, "text": case.text, "features": features})
        if number % 500 == 0:
            print(f"{number} of {len(cases)} sentences", flush=True)
    return rows


def open_reader(network: Network) -> CrossEncoder:
    """The strong reader with the shipped constants and this network."""
    return CrossEncoder(RecordedModels({STRONG_READER_FILE: network}, load_constants(MODELS / CONSTANTS_FILE)))


def fit(rows: Sequence[dict[str, Any]], max_false_share: float) -> dict[str, float]:
    """The weights of the features; the constant is such that this share of the false drafts is shown."""
    false_drafts = sum(row["source"] in DRAFT_SOURCES and not row["true"] for row in rows)
    if false_drafts * max_false_share < MIN_FALSE_SHOWN:
        raise SystemExit(
            f"There are only {false_drafts} false drafts. Run lab.train.data again, or allow a larger share."
        )
    is_read = np.array([bool(row["features"]) for row in rows])
    table = np.array([[row["features"][name] for name in FEATURES] for row in rows if row["features"]])
    labels = np.array([row["true"] for row in rows])
    weights = fit_logistic(table, labels[is_read].astype(float))
    # A sentence that an exact check rejects is below every threshold.
    scores = np.full(len(rows), (table @ weights[:-1]).min())
    scores[is_read] = table @ weights[:-1]
    sources = np.array([row["source"] for row in rows])
    weights[-1] = -np.quantile(scores[np.isin(sources, DRAFT_SOURCES) & ~labels], 1 - max_false_share)
    for source in sorted({*sources}):
        here = sources == source
        print(f"{source}: {describe_scores(scores[here & labels], scores[here & ~labels], -weights[-1])}")
    return name_weights(FEATURES, weights)


def describe_scores(true: Array, false: Array, threshold: float) -> str:
    """How many true and false sentences are above the threshold, and how many true ones above others."""
    if not len(true) or not len(false):
        return f"{len(true)} true and {len(false)} false sentences"
    shown = " and ".join(
        f"{(scores > threshold).sum()} of {len(scores)} {name}" for name, scores in (("true", true), ("false", false))
    )
    kept = ", ".join(f"{(true > np.quantile(false, 1 - share)).mean():.1%} if {share:.0%}" for share in FALSE_SHARES)
    return f"{shown} ones are shown; of the true ones {kept} of the false ones pass"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sample", type=int, default=sys.maxsize, help="at most so many sentences of each source")
    parser.add_argument("--list", action="store_true", help="only write the rows of tokens to read with a GPU")
    parser.add_argument(
        "--max-false-share", type=float, default=MAX_FALSE_SHARE, help="the share of the false drafts to show"
    )
    parser.add_argument("--out", type=Path, default=MODELS / "reader.json", help="the JSON to update")
    options = parser.parse_args()
    cases = load_paraphrases(options.sample)
    if options.list:
        collector = RowCollector()
        asyncio.run(read_paraphrases(cases, open_reader(collector)))
        CLAIM_ROWS.save(collector.rows)
        print(f"{CLAIM_ROWS.file} has {len(collector.rows)} rows. Read them: python -m lab.train.claim_readings")
        return
    shipped = ModelRuntime().network(STRONG_READER_FILE)
    reader = open_reader(load_claim_network(shipped) if CLAIM_LOGITS.exists() else shipped)
    rows = asyncio.run(read_paraphrases(cases, reader))
    weights = fit(rows, options.max_false_share)
    constants = json.loads(options.out.read_text(encoding="utf-8"))
    constants["strong"]["paraphrase"] = weights
    options.out.write_text(json.dumps(constants, indent=1) + "\n", encoding="utf-8")
    print(weights)


if __name__ == "__main__":
    main()
