"""`python -m training.grounding`: fits how much each deviation of a paraphrase counts against it.

The data is the development part of `evals/hostile.jsonl`: claims of the support sets may use other terms than their
passage, but a writer must not. The constant is such that no false sentence of that part passes.
"""

from __future__ import annotations

import argparse
import asyncio
import json
from collections.abc import Sequence

import numpy as np
from evals.hostile import Case, load_cases
from training.calibrate import MODELS, fit_logistic, name_weights

from bookbound.answering.grounding.verifier import CrossEncoderVerifier, check_paraphrase, find_verbatim
from bookbound.answering.reading.cross_encoder import CrossEncoder, log_odds, logistic_probability

PARAPHRASE_FEATURES = ("read", "new", "misplaced", "apart", "turned")
MARGIN = 0.2
"""Margin in log-odds between the threshold and the best false sentence."""


async def compute_features(cases: Sequence[Case]) -> list[dict[str, float]]:
    """The features of each sentence; empty if a check rejects it."""
    verifier = CrossEncoderVerifier(CrossEncoder())
    checked = [(case.text, check_paraphrase(case.text, case.evidence)) for case in cases]
    return [await verifier.compute_features(text, found) if found else {} for text, found in checked]


def main() -> None:
    argparse.ArgumentParser(description=__doc__).parse_args()
    cases = [
        case
        for case in load_cases()
        if case.part == "dev" and case.evidence and not find_verbatim(case.text, case.evidence)
    ]
    features = asyncio.run(compute_features(cases))
    checked = [(case.true, each) for case, each in zip(cases, features, strict=True) if each]
    table = np.array([[each[name] for name in PARAPHRASE_FEATURES] for _, each in checked])
    weights = name_weights(PARAPHRASE_FEATURES, fit_logistic(table, np.array([float(true) for true, _ in checked])))
    highest = max(log_odds(logistic_probability(weights, each)) for true, each in checked if not true)
    weights["constant"] = round(weights["constant"] - highest - MARGIN, 5)
    passed = sum(logistic_probability(weights, each) >= 0.5 for true, each in checked if true)
    print(f"{passed} of {sum(case.true for case in cases)} true sentences in other words pass:", weights)
    file = MODELS / "reader.json"
    constants = json.loads(file.read_text())
    constants["strong"]["paraphrase"] = weights
    file.write_text(json.dumps(constants, indent=1) + "\n")


if __name__ == "__main__":
    main()
