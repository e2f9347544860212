"""`python -m lab.train.shipped_weights`: writes the weights of the shipped strong reader, to train it further.

`lab/train/out/shipped` then has `strong.safetensors`, `adapter.safetensors` and `mpnet.safetensors`, the word table.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
import onnx
from onnx import numpy_helper

from bookbound.models.networks import load_claim_weights
from lab.train.constants import ADAPTER, CLAIM_HEAD, CLAIM_WEIGHTS, DOWN, MODELS, OUT, STRONG_READER, STRONG_WORDS, UP
from lab.train.export import WORD_TABLE
from lab.train.packed_weights import SCALE, save_weights
from lab.train.quantization import Array, Weights, dequantize_rows
from lab.train.shapes import RELATIVE_BUCKETS, SHAPES, relative_buckets

PREFIXES = ("encoder.", "span.", "answers.", CLAIM_HEAD)
TABLES = (WORD_TABLE, "encoder.places.weight", "encoder.types.weight")
RELATIVE_BIAS, RELATIVE_TABLE = "relative_bias", "encoder.rel.weight"


def load_shipped_reader(models: Path) -> Weights:
    """All weights of the strong reader and its adapter, by their names in training."""
    graph = onnx.load(models / STRONG_READER, load_external_data=False).graph
    inside = [tensor for tensor in graph.initializer if tensor.data_location != onnx.TensorProto.EXTERNAL]
    stored: Weights = {tensor.name: numpy_helper.to_array(tensor) for tensor in inside}
    stored |= load_claim_weights(models / CLAIM_WEIGHTS)
    stored[WORD_TABLE] = np.fromfile(models / STRONG_WORDS, np.int8).reshape(-1, SHAPES["mpnet"].hidden)
    weights: Weights = {}
    for name, values in stored.items():
        if name.startswith(PREFIXES) and not name.endswith(SCALE):
            rows = values if name in TABLES else values.T  # the matrices of layers are stored transposed
            weights[name] = dequantize_rows(rows, stored[name + SCALE]) if name + SCALE in stored else rows
    return weights | {RELATIVE_TABLE: _restore_relative_table(stored[RELATIVE_BIAS])}


def _restore_relative_table(biases: Array) -> Array:
    """The bias of each bucket, from the biases of all distances."""
    table = np.zeros((RELATIVE_BUCKETS, biases.shape[1]), np.float32)
    table[relative_buckets(SHAPES["mpnet"].max_positions)] = biases
    return table


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--models", type=Path, default=MODELS)
    parser.add_argument("--out", type=Path, default=OUT / "shipped")
    options = parser.parse_args()
    weights = load_shipped_reader(options.models)
    words = weights.pop(WORD_TABLE)
    factors = {name: values for name, values in weights.items() if name.endswith((DOWN, UP))}
    heads = {name: values for name, values in weights.items() if name.startswith(CLAIM_HEAD)}
    reader = {name: values for name, values in weights.items() if name not in factors}
    save_weights(reader, options.out / "strong.safetensors")
    save_weights(factors | heads, options.out / ADAPTER)
    save_weights({WORD_TABLE.removeprefix("encoder."): words}, options.out / "mpnet.safetensors")
    print(f"{options.out} has the reader, its adapter and its word table.")


if __name__ == "__main__":
    main()
