"""The shipped operating point is the one that would be chosen."""

from __future__ import annotations

import json

from bookbound.evaluation.threshold_curve import CurvePoint
from bookbound.models import CONSTANTS_FILE, MODELS_FOLDER
from lab.measure.choose_operating_point import find_unsure_threshold


def test_the_shipped_threshold_of_unsure_replies_follows_from_the_shipped_curve() -> None:
    kept = json.loads((MODELS_FOLDER / CONSTANTS_FILE).read_text(encoding="utf-8"))
    curve = [CurvePoint(row.pop("answered"), row.pop("given"), **row) for row in kept["curve"]]
    assert find_unsure_threshold(curve).threshold == kept["point"]["unsure"]
