"""The rows of tokens of claims that a GPU is to read, and what it read of them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from bookbound.models.networks import Outputs
from bookbound.models.onnx import Network
from lab.train.batches import Array, Example
from lab.train.constants import OUT
from lab.train.readings import TokenRows
from lab.train.recorded_readers import RecordedNetwork

CLAIM_ROWS = TokenRows(OUT / "claim-rows.npz")
CLAIM_LOGITS = OUT / "claim-logits.npz"
COMPARED_ROWS, MAX_DIFFERENCE = 8, 0.01
"""How many logits are compared with those of the shipped network, and by how much they may differ."""


class RowCollector:
    """Remembers the rows that it is to read, each once."""

    def __init__(self) -> None:
        self._rows: dict[tuple[int, ...], Example] = {}

    @property
    def rows(self) -> list[Example]:
        return [*self._rows.values()]

    def read(self, ids: Sequence[int], **inputs: Sequence[int]) -> Outputs:
        second = list(inputs["token_type_ids"]).index(1)
        self._rows.setdefault(tuple(ids), Example(np.array(ids, np.int32), second))
        return {"supported": np.zeros((), np.float32)}


def save_claim_logits(logits: Array) -> None:
    """Stores the logits of all rows."""
    np.savez(CLAIM_LOGITS, supported=logits.astype(np.float32), rows=CLAIM_ROWS.digest)


def load_claim_network(shipped: Network) -> RecordedNetwork:
    """Returns a network with the stored logits; some of them must be those of the shipped network."""
    stored = np.load(CLAIM_LOGITS)
    if stored["rows"] != CLAIM_ROWS.digest:
        raise SystemExit(f"{CLAIM_LOGITS.name} is for other rows. Read them: python -m lab.train.claim_readings")
    rows, logits = CLAIM_ROWS.load(), stored["supported"]
    for row, logit in [*zip(rows, logits, strict=True)][:: max(1, len(rows) // COMPARED_ROWS)]:
        types = [0] * row.second_start + [1] * (len(row.ids) - row.second_start)
        found = shipped.read(row.ids.tolist(), token_type_ids=types, is_claim=[1])["supported"]
        if abs(float(found) - logit) > MAX_DIFFERENCE:
            raise SystemExit(f"{CLAIM_LOGITS.name} is from other weights than the shipped ones. Read the rows again.")
    return RecordedNetwork({row.ids.tobytes(): {"supported": logit} for row, logit in zip(rows, logits, strict=True)})
