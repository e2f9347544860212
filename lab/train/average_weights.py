"""`python -m lab.train.average_weights OUT FILE FILE …`: averages networks that started from the same weights.

Networks with the same start and different training make different mistakes. Their mean is better than each of them and
costs the same. With `--shares`, they count differently.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from lab.train.packed_weights import load_weights, save_weights
from lab.train.quantization import Weights

WORD_TABLE = "words.weight"


def average(parts: Sequence[Weights], shares: Sequence[float]) -> Weights:
    """The weighted mean of networks, without their word table, which is not trained."""
    names = [name for name in parts[0] if not name.endswith(WORD_TABLE)]
    if any({name for name in part if not name.endswith(WORD_TABLE)} != set(names) for part in parts):
        raise SystemExit("These files have different weights. Average networks of one kind.")
    if len(shares) != len(parts) or abs(sum(shares) - 1) > 1e-6:
        raise SystemExit("Give one share per file; together they must be 1.")
    weighted = list(zip(shares, parts, strict=True))
    return {name: np.sum([share * part[name] for share, part in weighted], 0) for name in names}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("files", type=Path, nargs="+")
    parser.add_argument("--shares", type=float, nargs="+", help="the share of each file; equal if not given")
    options = parser.parse_args()
    parts = [load_weights(file) for file in options.files]
    save_weights(average(parts, options.shares or [1 / len(parts)] * len(parts)), options.out)


if __name__ == "__main__":
    main()
