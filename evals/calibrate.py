"""`python -m evals.calibrate --out FILE`: choose the default operating point on the question sets.

FILE is the JSON of the judge's fitted numbers, which keeps the point with its curve and the precision `wanted`. Every
question is asked with the lowest threshold; then each threshold is tried on what came out. The point is chosen on all
the sets together; `held_out` says what each book gets at the point chosen on the others. The indexes are those of the
last `python -m evals`.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import Progress

from bookbound.evaluation.runner import QuestionOutcome
from bookbound.evaluation.threshold_curve import (
    CurvePoint,
    build_threshold_curve,
    choose_threshold,
    evaluate_threshold,
    find_most_precise_threshold,
)
from evals.sets import ask, sets

REFUSED = 0.9
"""How many of the questions without an answer no language model should see."""


def held_out(found: dict[str, list[QuestionOutcome]], precision: float) -> dict[str, Any]:
    """What each book gets at the point chosen on the others; nothing where they reach the precision at no point."""
    rows: dict[str, Any] = {}
    for name, outcomes in found.items():
        others = [outcome for other, kept in found.items() if other != name for outcome in kept]
        choice = choose_threshold(build_threshold_curve(others or outcomes), precision)
        rows[name] = evaluate_threshold(choice.answered, outcomes).plain() if choice else None
    return rows


def refusing(rows: Sequence[CurvePoint]) -> CurvePoint:
    """The lowest threshold that refuses enough of what has no answer: from there on a language model is asked."""
    found = (row for row in rows if (row.refused_all or 0.0) >= REFUSED)
    return next(found, rows[-1])


def updated(
    kept: dict[str, Any], rows: Sequence[CurvePoint], choice: CurvePoint, wanted: float, apart: dict[str, Any]
) -> dict[str, Any]:
    """The judge's numbers with a point chosen from the rows of a curve, and all that says how it was chosen."""
    return kept | {
        "point": kept["point"] | {"answered": choice.answered, "drafted": refusing(rows).answered},
        "wanted": wanted,
        "held_out": apart,
        "curve": [row.plain() for row in rows],
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, required=True, help="the JSON to update")
    parser.add_argument("--precision", type=float, default=0.9, help="how many of the answers given should be right")
    options = parser.parse_args()
    with Progress(console=Console(stderr=True)) as progress:
        found = {each.name: ask(each, progress, answered=0.0)[1] for each in sets()}
    rows = build_threshold_curve([outcome for outcomes in found.values() for outcome in outcomes])
    choice, apart = choose_threshold(rows, options.precision), held_out(found, options.precision)
    for name, row in apart.items():
        print(f"{name:20}", row)
    if choice is None:
        sys.exit(
            f"no threshold reaches {options.precision}, so nothing was written; the best is {find_most_precise_threshold(rows)}"
        )
    kept = json.loads(options.out.read_text(encoding="utf-8"))
    kept = updated(kept, rows, choice, options.precision, apart)
    options.out.write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")
    print("operating point", kept["point"], choice.plain())


if __name__ == "__main__":
    main()
