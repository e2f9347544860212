"""What a GPU read of claims is found again by their rows of tokens, and only for these rows."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from training.readings import TokenRows
from training.recorded_claims import RowCollector, StoredClaimNetwork, save_claim_logits

from training import recorded_claims

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


def test_stored_logits_are_those_of_their_rows() -> None:
    collect_rows()
    save_claim_logits(np.array([1.5, -2.5]))
    network = StoredClaimNetwork()
    assert [float(network.read(ids)["supported"]) for ids, _ in reversed(ROWS)] == [-2.5, 1.5]


def test_a_row_that_was_not_read_is_an_error() -> None:
    collect_rows()
    save_claim_logits(np.zeros(2))
    with pytest.raises(SystemExit, match="A row was not read"):
        StoredClaimNetwork().read([101, 1, 102, 2, 102])


def test_logits_of_other_rows_are_an_error() -> None:
    collect_rows()
    save_claim_logits(np.zeros(2))
    recorded_claims.CLAIM_ROWS.save(collect_rows().rows[:1])
    with pytest.raises(SystemExit, match="is for other rows"):
        StoredClaimNetwork()
