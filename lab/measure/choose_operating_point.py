"""`python -m lab.measure.choose_operating_point --out FILE`: chooses the default point on the development sets.

FILE is the JSON of the fitted constants; it gets the point, its curve and the `wanted` precision. Every question is
asked with the lowest threshold; then every threshold is tried on the outcomes. `held_out` has the result of each book
at the point chosen on the others. The indexes are those of the last `python -m lab.measure.answers`.
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
from lab.measure.question_sets import ask_question_set, list_development_sets

MIN_REFUSED_SHARE = 0.8
"""The share of unanswerable questions that are refused plainly, and that no language model should see."""


def evaluate_held_out(outcomes_by_set: dict[str, list[QuestionOutcome]], precision: float) -> dict[str, Any]:
    """The result of each book at the threshold chosen on the others; None if they never reach the precision."""
    rows: dict[str, Any] = {}
    for name, outcomes in outcomes_by_set.items():
        others = [each for other, group in outcomes_by_set.items() if other != name for each in group]
        choice = choose_threshold(build_threshold_curve(others or outcomes), precision)
        rows[name] = evaluate_threshold(choice.threshold, outcomes).to_json() if choice else None
    return rows


def find_unsure_threshold(curve: Sequence[CurvePoint]) -> CurvePoint:
    """The lowest threshold that refuses enough unanswerable questions; from there a reply may be unsure."""
    return next((point for point in curve if (point.refused_all or 0.0) >= MIN_REFUSED_SHARE), curve[-1])


def update_calibration(
    stored: dict[str, Any], curve: Sequence[CurvePoint], choice: CurvePoint, wanted: float, held_out: dict[str, Any]
) -> dict[str, Any]:
    """The stored numbers with the chosen point and how it was chosen."""
    return stored | {
        "point": stored["point"] | {"answered": choice.threshold, "unsure": find_unsure_threshold(curve).threshold},
        "wanted": wanted,
        "held_out": held_out,
        "curve": [point.to_json() for point in curve],
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, required=True, help="the JSON to update")
    parser.add_argument("--precision", type=float, default=0.9, help="the share of answers that must be right")
    options = parser.parse_args()
    with Progress(console=Console(stderr=True)) as progress:
        outcomes = {each.name: ask_question_set(each, progress, 0.0)[1] for each in list_development_sets()}
    curve = build_threshold_curve([outcome for group in outcomes.values() for outcome in group])
    choice = choose_threshold(curve, options.precision)
    held_out = evaluate_held_out(outcomes, options.precision)
    for name, row in held_out.items():
        print(f"{name:20}", row)
    if choice is None:
        best = find_most_precise_threshold(curve)
        sys.exit(f"No threshold reaches {options.precision}, so nothing was written. The best is {best}.")
    stored = json.loads(options.out.read_text(encoding="utf-8"))
    stored = update_calibration(stored, curve, choice, options.precision, held_out)
    options.out.write_text(json.dumps(stored, indent=1) + "\n", encoding="utf-8")
    print("operating point", stored["point"], choice.to_json())


if __name__ == "__main__":
    main()
