"""Weight files: large matrices as 8-bit rows with one scale each (`NAME.scale`), the rest in half precision."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from safetensors.numpy import load_file, save_file

from lab.train.constants import BASE
from lab.train.quantization import LARGEST_8_BIT, Weights, dequantize_rows, quantize_rows

MIN_PACKED_SIZE = 20000
SCALE = ".scale"


def load_weights(file: Path) -> Weights:
    """The weights of a file in full precision."""
    stored = load_file(file)
    names = [name for name in stored if not name.endswith(SCALE)]
    return {
        name: dequantize_rows(stored[name], stored[name + SCALE])
        if name + SCALE in stored
        else stored[name].astype(np.float32)
        for name in names
    }


def save_weights(weights: Weights, file: Path) -> None:
    """Writes weights without loss for a network that was loaded from such a file."""
    stored: Weights = {}
    for name, values in weights.items():
        if values.ndim == 2 and values.size > MIN_PACKED_SIZE:
            stored[name], stored[name + SCALE] = quantize_rows(values, LARGEST_8_BIT)
        else:
            stored[name] = values.astype(np.float16)
    file.parent.mkdir(parents=True, exist_ok=True)
    save_file({name: np.ascontiguousarray(values) for name, values in stored.items()}, file)


def load_base_weights(encoder: str, folder: Path = BASE) -> Weights:
    """The published weights of an encoder, as `lab.train.base_weights` wrote them."""
    return load_weights(folder / f"{encoder}.safetensors")
