"""`python -m lab.train.claim_readings ADAPTER`: reads recorded claims with PyTorch and a GPU.

`lab.train.fit_support_threshold --list` records them. In full precision, the logits are those of the exported network.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
import torch

from lab.train.batches import Array, Example
from lab.train.claim_adapter import add_deltas, prepare_head
from lab.train.constants import ADAPTER, BASE, OUT
from lab.train.lessons import group_by_length
from lab.train.low_rank import average_deltas, multiply_factors, round_factors
from lab.train.network import Reader
from lab.train.packed_weights import load_weights
from lab.train.recorded_claims import CLAIM_LOGITS, CLAIM_ROWS, save_claim_logits
from lab.train.tensors import DEVICE, collate

MAX_BATCH_TOKENS = 60_000
"""The tokens that are read at once, in full precision."""


def open_claim_reader(reader: Path, base: Path, changes: list[Path]) -> Reader:
    """The strong reader with an adapter, or with the mean of several deltas."""
    opened = Reader.load(reader, base)
    loaded = (round_factors(load_weights(file)) for file in changes)
    mean = average_deltas([multiply_factors(each) for each in loaded])
    prepare_head(opened, mean)
    add_deltas(opened, mean)
    return opened.to(DEVICE).eval()


def read_claims(reader: Reader, rows: list[Example]) -> Array:
    """The logit of each claim that its premise supports it."""
    logits = np.zeros(len(rows), np.float32)
    for chosen in group_by_length([len(row.ids) for row in rows], MAX_BATCH_TOKENS):
        batch = collate([rows[i] for i in chosen], DEVICE)
        with torch.inference_mode():
            logits[chosen] = reader(batch["ids"], batch["mask"], batch["types"])[3].cpu().numpy()
    return logits


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("changes", type=Path, nargs="*", default=[OUT / ADAPTER], help="an adapter, or several deltas")
    parser.add_argument("--reader", type=Path, default=OUT / "strong.safetensors")
    parser.add_argument("--base", type=Path, default=BASE, help="the folder that lab.train.base_weights wrote")
    options = parser.parse_args()
    rows = CLAIM_ROWS.load()
    save_claim_logits(read_claims(open_claim_reader(options.reader, options.base, options.changes), rows))
    print(f"{CLAIM_LOGITS} has the readings of {len(rows)} rows.")


if __name__ == "__main__":
    main()
