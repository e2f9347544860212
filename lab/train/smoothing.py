"""Moves the outliers of activations into the weights, so that 8 bits hold the activations of an integer layer better.

A layer computes the same if each input channel is divided by a factor and the weights of the channel are multiplied by
it. The factors come from the largest activations that a sample of the training pairs gives.
"""

from __future__ import annotations

import random
from collections.abc import Sequence

import numpy as np
import onnxruntime
from onnx import TensorProto, helper

from lab.train.batches import Array, Example, ExampleBuilder, TokenCache, load_rows
from lab.train.constants import TOKENIZER
from lab.train.onnx_graph import SMOOTHING, Graph
from lab.train.onnx_networks import IDS, TYPES, build_reader
from lab.train.quantization import Weights, smooth_channels
from lab.train.shapes import EncoderShape

SAMPLE_SIZE, SEED = 60, 3


def sample_pairs() -> list[Example]:
    """Some questions about training books with their passages."""
    rows = [row for row in load_rows("reading") if row["part"] != "test" and row["source"] == "book_reading"]
    builder = ExampleBuilder(TokenCache(TOKENIZER), load_rows("passages"), {})
    sample = random.Random(SEED).sample(rows, SAMPLE_SIZE)
    return [builder.reading_example(row["question"], row["passage"], row) for row in sample]


def measure_activations(weights: Weights, shape: EncoderShape, pairs: Sequence[Example]) -> dict[str, Array]:
    """The largest absolute value of each input channel of each layer of the encoder."""
    inputs: dict[str, str] = {}

    def add_watched_layer(graph: Graph, x: str, name: str) -> str:
        inputs[name] = x
        return graph.float_linear(x, name)

    model = build_reader(dict(weights), shape, add_watched_layer)
    model.graph.output.extend(helper.make_tensor_value_info(x, TensorProto.FLOAT, None) for x in inputs.values())
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    largest = {name: np.zeros(weights[f"{name}.weight"].shape[1], np.float32) for name in inputs}
    for pair in pairs:
        types = np.arange(len(pair.ids)) >= pair.second_start
        row = {IDS: pair.ids[None].astype(np.int64), TYPES: types[None].astype(np.int64)}
        for name, activations in zip(inputs, session.run(list(inputs.values()), row), strict=True):
            largest[name] = np.maximum(largest[name], np.abs(activations[0]).max(0))
    return largest


def smooth_weights(weights: Weights, largest: dict[str, Array]) -> Weights:
    """The weights with smoothed layers, and next to each layer what its input is multiplied by."""
    smoothed = dict(weights)
    for name, activations in largest.items():
        smoothed[f"{name}.weight"], factors = smooth_channels(weights[f"{name}.weight"], activations)
        smoothed[f"{name}{SMOOTHING}"] = 1 / factors
    return smoothed
