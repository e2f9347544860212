"""`python -m lab.train.export strong|fast|embedder`: writes a trained network as an ONNX file.

The strong reader stores its weights in 8 bits, those for claims in 4 bits, and computes in full precision. The fast
reader and the embedder compute with 7-bit weights and 8-bit activations. The word tables come from the base weights:
they are not trained.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import numpy_helper
from onnx.external_data_helper import set_external_data

from lab.train.constants import (
    ADAPTER,
    BASE,
    CLAIM_WEIGHTS,
    DOWN,
    EMBEDDER,
    FAST_READER,
    OUT,
    STRONG_READER,
    STRONG_WORDS,
    UP,
)
from lab.train.onnx_graph import Graph
from lab.train.onnx_networks import add_strong_layer, build_embedder, build_reader
from lab.train.packed_weights import load_base_weights, load_weights
from lab.train.quantization import pack_4_bits
from lab.train.shapes import SHAPES
from lab.train.smoothing import measure_activations, sample_pairs, smooth_weights

WORD_TABLE = "encoder.words.weight"


def export_strong(file: Path, base: Path, out: Path) -> Path:
    """Writes the strong reader; its word table and its adapter are in files of their own: no file is over 95 MB."""
    weights = load_weights(file) | {WORD_TABLE: load_base_weights("mpnet", base)["words.weight"]}
    model = build_reader(weights | load_weights(file.with_name(ADAPTER)), SHAPES["mpnet"], add_strong_layer)
    onnx.checker.check_model(model)
    words = next(tensor for tensor in model.graph.initializer if tensor.name == WORD_TABLE)
    (out / STRONG_WORDS).write_bytes(words.raw_data)
    move_values(words, STRONG_WORDS)
    factors = [tensor for tensor in model.graph.initializer if tensor.name.endswith((DOWN, UP))]
    packed: dict[str, Any] = {tensor.name: pack_4_bits(numpy_helper.to_array(tensor)) for tensor in factors}
    np.savez(out / CLAIM_WEIGHTS, **packed)
    for tensor in factors:
        # Not a file: who opens the network gives it these values.
        move_values(tensor, f"{CLAIM_WEIGHTS}/{tensor.name}")
    onnx.save(model, out / STRONG_READER)
    return out / STRONG_READER


def move_values(tensor: onnx.TensorProto, place: str) -> None:
    """Removes the values of a tensor and says where they are."""
    set_external_data(tensor, place, offset=0, length=len(tensor.raw_data))
    tensor.ClearField("raw_data")


def export_fast(file: Path, base: Path, out: Path) -> Path:
    weights = load_weights(file) | {WORD_TABLE: load_base_weights("gte", base)["words.weight"]}
    smoothed = smooth_weights(weights, measure_activations(weights, SHAPES["gte"], sample_pairs()))
    return write_model(build_reader(smoothed, SHAPES["gte"], Graph.integer_linear), out / FAST_READER)


def export_embedder(file: Path, base: Path, out: Path) -> Path:
    weights = {f"encoder.{name}": values for name, values in load_weights(file).items()}
    weights[WORD_TABLE] = load_base_weights("gte", base)["words.weight"]
    return write_model(build_embedder(weights, SHAPES["gte"], Graph.integer_linear), out / EMBEDDER)


EXPORTS = {"strong": export_strong, "fast": export_fast, "embedder": export_embedder}


def write_model(model: onnx.ModelProto, file: Path) -> Path:
    onnx.save(model, file)
    onnx.checker.check_model(file)
    return file


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("network", choices=EXPORTS)
    parser.add_argument("weights", type=Path, nargs="?", help="lab/train/out/NETWORK.safetensors if not given")
    parser.add_argument("--base", type=Path, default=BASE, help="the folder that lab.train.base_weights wrote")
    parser.add_argument("--out", type=Path, default=OUT)
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    weights = options.weights or OUT / f"{options.network}.safetensors"
    file = EXPORTS[options.network](weights, options.base, options.out)
    print(file, file.stat().st_size)


if __name__ == "__main__":
    main()
