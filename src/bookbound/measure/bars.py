"""Bars that figures must reach, for use where a build should fail when answers get worse."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import isfinite
from typing import NamedTuple

from bookbound.errors import BadSetup
from bookbound.measure.figures import DEPTHS, Plain

PATHS: dict[str, tuple[str, ...]] = {
    **{f"recall@{depth}": ("retrieval", "by_question", f"recall@{depth}") for depth in DEPTHS},
    "mrr": ("retrieval", "by_question", "mrr"),
    **{f"evidence_recall@{depth}": ("retrieval", "by_evidence", f"recall@{depth}") for depth in DEPTHS},
    "evidence_mrr": ("retrieval", "by_evidence", "mrr"),
    **{
        name: ("answers", name)
        for name in ("answered", "evidence_found", "token_f1", "must_contain", "correct_and_cited", "precision")
    },
    "refusal_precision": ("refusals", "precision"),
    "refusal_recall": ("refusals", "recall"),
    **{name: ("citations", name) for name in ("hold_evidence", "evidence_covered", "verbatim")},
    "ece": ("calibration", "ece"),
    "p50_ms": ("latency_ms", "all", "p50"),
    "p95_ms": ("latency_ms", "all", "p95"),
}
"""The names of the figures that a bar can be set for, and where each stands among the figures."""

AT_MOST = {"ece", "p50_ms", "p95_ms"}
"""Figures of which less is better."""

OF_KIND = "refused."
"""Before the name of a kind of unanswerable question: the share of them that is refused."""


class Bar(NamedTuple):
    """What a figure must reach, or may not exceed."""

    name: str
    value: float

    def missed(self, measured: Plain) -> str | None:
        """By how much the figure misses the bar, in words, or nothing where it does not."""
        found = _figure(self.name, measured)
        if found is None:
            return f"{self.name} has no value here: no question of the set speaks for it."
        short = found - self.value if self.name in AT_MOST else self.value - found
        side = "over" if self.name in AT_MOST else "under"
        return f"{self.name} is {found:.4g}, {short:.4g} {side} the bar of {self.value:.4g}." if short > 0 else None


def bars(given: Sequence[str], kinds: Iterable[str]) -> list[Bar]:
    """The bars that texts like `recall@5=0.8` set, for a question set with these kinds of unanswerable questions."""
    known = [*PATHS, *(OF_KIND + kind for kind in sorted(set(kinds)))]
    found = []
    for text in given:
        name, _, value = text.rpartition("=")
        if name.strip() not in known:
            raise BadSetup(f"A bar is NAME=VALUE, and NAME is one of: {', '.join(known)}.")
        try:
            number = float(value)
        except ValueError:
            number = float("nan")
        if not isfinite(number) or number < 0:
            raise BadSetup(f"The bar for {name.strip()} must be a number, 0 or more.")
        found.append(Bar(name.strip(), number))
    return found


def _figure(name: str, measured: Plain) -> float | None:
    if name.startswith(OF_KIND):
        path: tuple[str, ...] = ("refusals", "by_kind", name.removeprefix(OF_KIND), "recall")
    else:
        path = PATHS[name]
    value = measured
    for step in path:
        value = value[step]
    return None if value is None else float(str(value))
