"""The claims that the last stage of the strong reader's head learns from, and how often each is read.

A true claim is read as often as a false one of its source, so that a logit of 0 is as far from both.
"""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence

import numpy as np
from evals.hostile import build_claim_case
from training.batches import Array, Row

from bookbound.answering.grounding.supporting_units import CitedEvidence

SOURCE_WEIGHTS = {
    "book_claims": 6.0,
    "contrasting": 3.0,
    "written": 1.0,
    "altered": 1.0,
    "begin": 0.4,
    "faithdial_audit": 0.3,
    "fever_dev": 0.5,
    "fm2": 0.4,
    "mctest_statements": 0.5,
    "scifact": 0.3,
    "semeval13_student_answers": 0.5,
    "snli": 0.4,
    "summedits": 0.4,
}
"""How often a source is read; the edited claims, which are all false, count as altered."""
SHORTENED_SHARES = {"book_claims": 1.0, "contrasting": 1.0, "written": 1.0, "altered": 0.12, "edited": 0.12}
"""The share of a source's claims that is also read with a shortened premise."""
SHORTENED_WEIGHT = 5.0
"""A claim with a shortened premise is read so many times as often as one with a whole premise."""


def shorten_premises(rows: Iterable[Row], rng: random.Random) -> Iterator[Row]:
    """The claims with only those units of their premise that the verifier reads the second time."""
    for row in rows:
        if rng.random() < SHORTENED_SHARES.get(row["source"], 0.0):
            case = build_claim_case(row | {"book": "", "id": ""}, "", "")
            context = CitedEvidence(case.text, case.evidence).context
            if context and context != row["premise"]:
                yield row | {"premise": context, "shortened": True}


def balance(rows: Sequence[Row]) -> Array:
    """The probability of each row to be drawn."""
    groups: dict[tuple[str, bool], list[int]] = defaultdict(list)
    for number, row in enumerate(rows):
        source = "altered" if row["source"] == "edited" else row["source"]
        groups[source, row["supported"]].append(number)
    weights = np.array([SHORTENED_WEIGHT if "shortened" in row else 1.0 for row in rows])
    for (source, _), numbers in groups.items():
        weights[numbers] *= SOURCE_WEIGHTS[source] / weights[numbers].sum()
    return np.asarray(weights / weights.sum())
