"""`python -m training.mean OUT FILE FILE …`: the mean of readers that began from the same weights.

Readers that were trained from one beginning, each with its own order of examples, err in different places; their mean
reads better than any of them, at the price of one.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
from safetensors.numpy import load_file, save_file


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("files", type=Path, nargs="+")
    options = parser.parse_args()
    parts = [load_file(file) for file in options.files]
    mean = {name: np.mean([part[name].astype(np.float32) for part in parts], 0) for name in parts[0]}
    save_file({name: np.ascontiguousarray(values.astype(np.float16)) for name, values in mean.items()}, options.out)


if __name__ == "__main__":
    main()
