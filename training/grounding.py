"""`python -m training.grounding`: how the liberties of a sentence weigh against the reading of it.

Fitted on the part of `evals/hostile.jsonl` that was written for development, since the claims of the support sets are
paraphrases that may leave the terms of their passage, which a writer is told to keep. The bar is where no false
sentence of that part passes.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from evals.hostile import Case, cases
from training.calibrate import FILES, fit, named

from bookbound.answering.grounding.verifier import CrossEncoderVerifier, check_paraphrase, find_verbatim
from bookbound.answering.reading.cross_encoder import CrossEncoder, log_odds, logistic_probability

WEIGHED = ("read", "new", "misplaced", "apart", "turned")
MARGIN = 0.2
"""By how much, in log-odds, the surest false sentence stays below the bar."""


async def weigh(given: Sequence[Case]) -> list[dict[str, float]]:
    """What speaks for each sentence; nothing for one that a check contradicts."""
    verifier = CrossEncoderVerifier(CrossEncoder())
    held = [(case.text, check_paraphrase(case.text, case.evidence)) for case in given]
    return [await verifier.weighed(text, found) if found else {} for text, found in held]


def main() -> None:
    given = [
        case for case in cases() if case.part == "dev" and case.evidence and not find_verbatim(case.text, case.evidence)
    ]
    weighed = asyncio.run(weigh(given))
    kept = [(case.true, found) for case, found in zip(given, weighed, strict=True) if found]
    table = np.array([[found[name] for name in WEIGHED] for _, found in kept])
    weights = named(WEIGHED, fit(table, np.array([float(true) for true, _ in kept])))
    surest = max(log_odds(logistic_probability(weights, found)) for true, found in kept if not true)
    weights["constant"] = round(weights["constant"] - surest - MARGIN, 5)
    passed = sum(logistic_probability(weights, found) >= 0.5 for true, found in kept if true)
    print(f"{passed} of {sum(case.true for case in given)} true sentences in other words pass:", weights)
    file = Path(FILES) / "reader.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | {"retold": weights}, indent=1) + "\n")


if __name__ == "__main__":
    main()
