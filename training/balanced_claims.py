"""The claims that the strong reader's adapter learns from, and how often each is read."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Iterable, Iterator

from evals.hostile import build_claim_case
from training.batches import Row

from bookbound.answering.grounding.supporting_units import CitedEvidence

SOURCE_WEIGHTS = {
    "twins": 16.0,
    "book_claims": 6.0,
    "contrasting": 3.0,
    "written": 1.0,
    "altered": 1.0,
    "edited": 0.6,
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
"""How often the true or the false claims of a source are read; twins are read together."""
CONTEXT_SOURCES = frozenset({"twins", "book_claims", "contrasting", "written"})
"""The sources that are also read with the context of a claim instead of the whole premise."""
CONTEXT_SHARE = 0.5


def add_contexts(rows: Iterable[Row]) -> Iterator[Row]:
    """The claims about books with those units of their premise that the verifier reads the second time."""
    for row in rows:
        if row["source"] in CONTEXT_SOURCES:
            case = build_claim_case(row | {"book": "", "id": ""}, "", "")
            yield row | {"context": CitedEvidence(case.text, case.evidence).context or row["premise"]}
        else:
            yield row


class ClaimSampler:
    """Draws as many true as false claims of a source, whatever it has more of, and twins together."""

    def __init__(self, rows: Iterable[Row], rng: random.Random) -> None:
        self._rng = rng
        groups: dict[tuple[str, int], list[Row]] = defaultdict(list)
        for number, row in enumerate(rows):
            groups[row["source"], row.get("pair", -number)].append(row)
        self._groups: dict[tuple[str, bool], list[list[Row]]] = defaultdict(list)
        for (source, _), group in groups.items():
            group.sort(key=lambda row: not row["supported"])
            self._groups[source, group[0]["supported"]].append(group)
        self._weights = [SOURCE_WEIGHTS[source] for source, _ in self._groups]

    def draw(self) -> list[Row]:
        """One claim, or two twins with the true one first; with the whole premise or the context."""
        (key,) = self._rng.choices([*self._groups], self._weights)
        group = self._rng.choice(self._groups[key])
        if self._rng.random() < CONTEXT_SHARE:
            return [row | {"premise": row.get("context", row["premise"])} for row in group]
        return group
