"""What a GPU read of claims is found again by their rows of tokens, and only for these rows."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from bookbound.models.networks import Outputs
from lab.train import recorded_claims
from lab.train.readings import TokenRows
from lab.train.recorded_claims import RowCollector, load_claim_network, save_claim_logits
from lab.train.recorded_readers import RecordedNetwork

ROWS = [([101, 7, 102, 8, 9, 102], [0, 0, 0, 1, 1, 1]), ([101, 5, 102, 6, 102], [0, 0, 0, 1, 1])]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(recorded_claims, "CLAIM_ROWS", TokenRows(tmp_path / "rows.npz"))
    monkeypatch.setattr(recorded_claims, "CLAIM_LOGITS", tmp_path / "logits.npz")
    return tmp_path


def collect_rows() -> RowCollector:
    collector = RowCollector()
    for ids, types in [*ROWS, ROWS[0]]:
        collector.read(ids, token_type_ids=types, is_claim=[1])
    recorded_claims.CLAIM_ROWS.save(collector.rows)
    return collector


def test_each_row_is_collected_once_with_the_start_of_its_premise() -> None:
    rows = collect_rows().rows
    assert [row.ids.tolist() for row in rows] == [ids for ids, _ in ROWS]
    assert [row.second_start for row in rows] == [3, 3]


class ShippedNetwork:
    """Reads every row with the given logits, as the shipped network would."""

    def __init__(self, logits: list[float]) -> None:
        self._logits = {tuple(ids): logit for (ids, _), logit in zip(ROWS, logits, strict=True)}

    def read(self, ids: Sequence[int], **inputs: Sequence[int]) -> Outputs:
        assert list(inputs["token_type_ids"]) == next(types for row, types in ROWS if row == ids)
        return {"supported": np.array(self._logits[tuple(ids)], np.float32)}


def load(logits: list[float]) -> RecordedNetwork:
    return load_claim_network(ShippedNetwork(logits))


def test_stored_logits_are_those_of_their_rows() -> None:
    collect_rows()
    save_claim_logits(np.array([1.5, -2.5]))
    network = load([1.501, -2.499])
    assert [float(network.read(ids)["supported"]) for ids, _ in reversed(ROWS)] == [-2.5, 1.5]


def test_a_row_that_was_not_read_is_an_error() -> None:
    collect_rows()
    save_claim_logits(np.zeros(2))
    with pytest.raises(SystemExit, match="A row of tokens was not read"):
        load([0, 0]).read([101, 1, 102, 2, 102])


def test_logits_of_other_rows_are_an_error() -> None:
    collect_rows()
    save_claim_logits(np.zeros(2))
    recorded_claims.CLAIM_ROWS.save(collect_rows().rows[:1])
    with pytest.raises(SystemExit, match="is for other rows"):
        load([0, 0])


def test_logits_of_other_weights_are_an_error() -> None:
    collect_rows()
    save_claim_logits(np.zeros(2))
    with pytest.raises(SystemExit, match="is from other weights than the shipped ones"):
        load([0, 0.5])
