"""The claims that the strong reader's adapter learns from, and how often each is read."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Iterable

from lab.train.batches import Row

SOURCE_WEIGHTS = {
    "natural": 30.0,
    "draft_twins": 40.0,
    "twins": 12.0,
    "book_claims": 3.0,
    "contrasting": 2.0,
    "written": 1.0,
    "altered": 2.0,
    "edited": 3.0,
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
CONTEXT_SHARE = 0.5
"""How many of the claims that have a context are read with it instead of the whole premise."""


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
        text = "context" if self._rng.random() < CONTEXT_SHARE else "whole"
        return [row | {"premise": row.get(text, row["premise"])} for row in group]
