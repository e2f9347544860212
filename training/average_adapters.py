"""`python -m training.average_adapters OUT FILE...`: writes the mean of several adapters, cut to a number of weights.

The mean of low-rank changes is a change of their joint rank. What is cut off are the directions that change least for
their size, over all layers together.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from training.constants import DOWN, UP
from training.low_rank import cut_adapter, join_adapters
from training.packed_weights import load_weights, save_weights

MAX_WEIGHTS = 4_200_000
"""With so many, the file of the strong reader is below 95 MB, and its wheel below 100 MiB."""
HEAD_BIAS = "supported.2.bias"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("adapters", type=Path, nargs="+")
    parser.add_argument("--weights", type=int, default=MAX_WEIGHTS, help="keep at most so many")
    parser.add_argument("--shift", type=float, default=0.0, help="add this to the logit")
    options = parser.parse_args()
    joined = join_adapters([load_weights(file) for file in options.adapters])
    joined[HEAD_BIAS] = joined[HEAD_BIAS] + options.shift
    cut = cut_adapter(joined, options.weights)
    save_weights(cut, options.out)
    kept = sum(values.size for name, values in cut.items() if name.endswith((DOWN, UP)))
    print(f"{options.out} has {kept} weights.")


if __name__ == "__main__":
    main()
