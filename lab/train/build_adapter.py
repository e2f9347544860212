"""`python -m lab.train.build_adapter OUT FILE...`: writes the mean of the deltas of several runs as an adapter.

It drops the directions that change least for their size, over all layers together.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from lab.train.constants import DOWN, UP
from lab.train.low_rank import average_deltas, multiply_factors, truncate_deltas
from lab.train.packed_weights import load_weights, save_weights

MAX_WEIGHTS = 31_400_000
"""With so many of 4 bits, all networks together have less than 200 MB."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("files", type=Path, nargs="+")
    parser.add_argument("--weights", type=int, default=MAX_WEIGHTS, help="keep at most so many")
    options = parser.parse_args()
    mean = average_deltas([multiply_factors(load_weights(file)) for file in options.files])
    cut = truncate_deltas(mean, options.weights)
    save_weights(cut, options.out)
    kept = sum(values.size for name, values in cut.items() if name.endswith((DOWN, UP)))
    print(f"{options.out} has {kept} weights.")


if __name__ == "__main__":
    main()
