"""`python -m training.grounding`: fits when a paraphrase counts as supported, from what the strong reader says of it.

The data are held-out claims about books, those of `evals/claims.jsonl` and `evals/drafts.jsonl`, and the development
part of `evals/hostile.jsonl`. The constant is such that at most `--max-false-share` of the false drafts are shown:
those of `evals/drafts.jsonl` and the held-out twins in their style, because a language model with the product's prompt
writes such sentences. The readings of a network are stored, so that a second fit takes two minutes, also if the exact
checks have changed.
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
from evals.hostile_cases import Case, build_claim_case, load_cases, load_claims
from evals.sets import ROOT
from training.batches import load_rows
from training.calibrate import MODELS, fit_logistic, name_weights
from training.constants import OUT

from bookbound.answering.grounding.verifier import CrossEncoderVerifier, check_paraphrase, find_verbatim
from bookbound.answering.reading.cross_encoder import CrossEncoder
from bookbound.models import DIGESTS_FILE, STRONG_READER_FILE, load_constants

FEATURES = ("whole", "context", "quantifiers")
HELD_OUT_SOURCES = ("contrasting", "book_claims", "draft_twins")
CLAIM_FILES = (ROOT / "evals" / "claims.jsonl", ROOT / "evals" / "drafts.jsonl")
DRAFT_SOURCES = ("drafts", "draft_twins")
MIN_FALSE_SHOWN = 4
"""The threshold rests on at least so many of the false drafts."""
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


async def read_paraphrases(cases: Sequence[Case], readings: dict[str, dict[str, float]]) -> list[dict[str, Any]]:
    """Each sentence with its features, or with none if an exact check rejects it; adds what it reads to `readings`."""
    verifier, rows = CrossEncoderVerifier(CrossEncoder()), list[dict[str, Any]]()
    for number, case in enumerate(cases, 1):
        features = None
        if checked := check_paraphrase(case.text, case.evidence):
            texts = "\n\n".join((case.text, checked.whole, checked.context))
            if texts not in readings:
                readings[texts] = await verifier.compute_features(case.text, checked)
            features = readings[texts] | {"quantifiers": checked.quantifiers}
        rows.append({"source": case.part, "true": case.true, "text": case.text, "features": features})
        if number % 100 == 0:
            print(f"{number} of {len(cases)} sentences are read", flush=True)
    return rows


def fit(rows: Sequence[dict[str, Any]], max_false_share: float) -> dict[str, float]:
    """The weights of the features; the constant is such that this share of the false drafts is shown."""
    false_drafts = sum(row["source"] in DRAFT_SOURCES and not row["true"] for row in rows)
    if false_drafts * max_false_share < MIN_FALSE_SHOWN:
        raise SystemExit(
            f"There are only {false_drafts} false drafts. Run training.data again, or allow a larger share."
        )
    read = [row for row in rows if row["features"]]
    table = np.array([[row["features"][name] for name in FEATURES] for row in read])
    labels = np.array([float(row["true"]) for row in read])
    weights = fit_logistic(table, labels)
    scores = table @ weights[:-1]
    is_draft = np.array([row["source"] in DRAFT_SOURCES for row in read])
    false_scores = scores[is_draft & (labels == 0)]
    # A sentence that an exact check rejects is below every threshold.
    rejected = np.full(false_drafts - len(false_scores), scores.min())
    threshold = np.quantile(np.concatenate([rejected, false_scores]), 1 - max_false_share)
    weights[-1] = -threshold
    for source in sorted({row["source"] for row in rows}):
        here = np.array([row["source"] == source for row in read])
        total = {true: sum(row["source"] == source and row["true"] == true for row in rows) for true in (True, False)}
        shown = {true: int((scores[here & (labels == true)] > threshold).sum()) for true in (True, False)}
        print(f"{source}: true {shown[True]} of {total[True]}, false {shown[False]} of {total[False]} are shown")
    return name_weights(FEATURES, weights)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sample", type=int, default=sys.maxsize, help="at most so many sentences of each source")
    parser.add_argument("--max-false-share", type=float, default=0.0125, help="the share of the false drafts to show")
    parser.add_argument("--out", type=Path, default=MODELS / "reader.json", help="the JSON to update")
    options = parser.parse_args()
    digest = load_constants(MODELS / DIGESTS_FILE)[STRONG_READER_FILE]
    file = OUT / f"paraphrases-{digest[:12]}.json"
    readings = json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}
    try:
        rows = asyncio.run(read_paraphrases(load_paraphrases(options.sample), readings))
    finally:
        file.write_text(json.dumps(readings) + "\n", encoding="utf-8")
    weights = fit(rows, options.max_false_share)
    constants = json.loads(options.out.read_text(encoding="utf-8"))
    constants["strong"]["paraphrase"] = weights
    options.out.write_text(json.dumps(constants, indent=1) + "\n", encoding="utf-8")
    print(weights)


if __name__ == "__main__":
    main()
