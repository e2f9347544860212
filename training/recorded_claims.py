"""The rows of tokens of claims that a GPU is to read, and a network that returns what it read."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from training.batches import Array, Example
from training.constants import OUT
from training.readings import TokenRows

from bookbound.models.networks import Outputs

CLAIM_ROWS = TokenRows(OUT / "claim-rows.npz")
CLAIM_LOGITS = OUT / "claim-logits.npz"


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


class StoredClaimNetwork:
    """Returns the stored logits of rows."""

    def __init__(self) -> None:
        stored = np.load(CLAIM_LOGITS)
        if stored["rows"] != CLAIM_ROWS.digest:
            raise SystemExit(f"{CLAIM_LOGITS.name} is for other rows. Read them: python -m training.claim_readings")
        rows = [tuple(row.ids.tolist()) for row in CLAIM_ROWS.load()]
        self._logits = dict(zip(rows, stored["supported"], strict=True))

    def read(self, ids: Sequence[int], **inputs: Sequence[int]) -> Outputs:
        try:
            return {"supported": self._logits[tuple(ids)]}
        except KeyError:
            raise SystemExit("A row was not read. Run training.grounding --list and training.claim_readings.") from None
