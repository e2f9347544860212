"""`python -m training.average_weights OUT FILE FILE …`: averages readers that started from the same weights.

Readers with the same start and different orders of examples make different mistakes. Their mean is better than each of
them and costs the same.
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
