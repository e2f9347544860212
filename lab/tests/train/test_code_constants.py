"""A calibration is for the constants of code, too: who changes one has other probabilities."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from bookbound.answering.deciding.operating_point import DefaultOperatingPoint
from bookbound.answering.reading import answerability
from bookbound.models import CONSTANTS_FILE, DIGESTS_FILE, MODELS_FOLDER
from lab.train.code_constants import NAME, list_code_constants


def test_the_shipped_constants_record_those_of_the_code() -> None:
    stored = json.loads((MODELS_FOLDER / CONSTANTS_FILE).read_text(encoding="utf-8"))
    assert stored[NAME] == list_code_constants(), "fit the constants again, or run: python -m lab.train.code_constants"


def test_a_number_that_stops_the_reading_is_one_of_them(monkeypatch: pytest.MonkeyPatch) -> None:
    before = list_code_constants()
    monkeypatch.setattr(answerability, "LEAD_ODDS", 2.5)
    assert list_code_constants() == {**before, "answerability.LEAD_ODDS": 2.5}


def test_another_constant_of_code_makes_another_model(tmp_path: Path) -> None:
    stored = json.loads((MODELS_FOLDER / CONSTANTS_FILE).read_text(encoding="utf-8"))
    (tmp_path / DIGESTS_FILE).write_bytes((MODELS_FOLDER / DIGESTS_FILE).read_bytes())
    fingerprints = set()
    for odds in (1.0, 2.5):
        stored[NAME]["answerability.LEAD_ODDS"] = odds
        (tmp_path / CONSTANTS_FILE).write_text(json.dumps(stored), encoding="utf-8")
        fingerprints.add(DefaultOperatingPoint.load(tmp_path).model_fingerprint)
    assert len(fingerprints) == 2
