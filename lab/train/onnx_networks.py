"""The networks as ONNX graphs: the encoders, and the heads of reader and embedder."""

from __future__ import annotations

from collections.abc import Callable

import onnx
from onnx import TensorProto

from lab.train.constants import CLS, IMPOSSIBLE_LOGIT, IS_CLAIM, SEP
from lab.train.onnx_graph import Graph
from lab.train.quantization import Weights
from lab.train.shapes import MPNET_CLS, MPNET_ID_SHIFT, MPNET_SEP, EncoderShape, relative_buckets

Linear = Callable[[Graph, str, str], str]
"""Adds a linear layer to a graph: to this input, with the weights of this name."""
IDS, TYPES = "input_ids", "token_type_ids"


def build_reader(weights: Weights, shape: EncoderShape, linear: Linear) -> onnx.ModelProto:
    """A reader; `linear` is for the layers of the encoder, the heads compute in full precision."""
    graph = Graph(weights)
    x = _encode(graph, shape, linear, graph.add("Gather", graph.weight("encoder.types.weight"), TYPES, axis=0))
    is_second = graph.add("Unsqueeze", graph.add("Cast", TYPES, to=TensorProto.FLOAT), graph.integers(-1))
    outside = graph.add("Mul", graph.add("Sub", graph.number(1.0), is_second), graph.number(IMPOSSIBLE_LOGIT))
    logits = graph.add("Add", graph.add("Mul", graph.float_linear(x, "span"), is_second), outside)
    probabilities = graph.add("Transpose", graph.add("Softmax", logits, axis=1), perm=[0, 2, 1])
    pointed = graph.add("Reshape", graph.add("MatMul", probabilities, x), graph.integers(0, 2 * shape.hidden))
    first = graph.add("Gather", x, graph.integer(0), axis=1)
    graph.add("Gather", logits, graph.integer(0), output="start", axis=2)
    graph.add("Gather", logits, graph.integer(1), output="end", axis=2)
    _add_head(graph, graph.add("Concat", first, pointed, axis=1), "answers")
    _add_head(graph, first, "supported")
    rows: list[str | int] = ["batch", "length"]
    return graph.model([IDS, TYPES], {"start": rows, "end": rows, "answers": ["batch"], "supported": ["batch"]})


def add_strong_layer(graph: Graph, x: str, name: str) -> str:
    """A linear layer of the strong reader, which reads claims with low-rank changes."""
    return graph.adapted_linear(x, name, IS_CLAIM)


def build_embedder(weights: Weights, shape: EncoderShape, linear: Linear) -> onnx.ModelProto:
    """An embedder: the normalised mean of the vectors of all tokens."""
    graph = Graph(weights)
    first_type = graph.add("Gather", graph.weight("encoder.types.weight"), graph.integer(0), axis=0)
    mean = graph.add("ReduceMean", _encode(graph, shape, linear, first_type), graph.integers(1), keepdims=0)
    graph.add("LpNormalization", mean, output="embedding", axis=-1, p=2)
    return graph.model([IDS], {"embedding": ["batch", shape.hidden]})


def _add_head(graph: Graph, x: str, name: str) -> None:
    inner = graph.add("Gelu", graph.float_linear(x, f"{name}.0"))
    graph.add("Squeeze", graph.float_linear(inner, f"{name}.2"), graph.integers(-1), output=name)


def _encode(graph: Graph, shape: EncoderShape, linear: Linear, types: str) -> str:
    """One vector per token."""
    length = graph.add("Gather", graph.add("Shape", IDS), graph.integer(1), axis=0)
    steps = graph.add("Range", graph.integer(0), length, graph.integer(1))
    places = graph.add("Add", steps, graph.integer(shape.first_position))
    words = graph.gather_rows("encoder.words.weight", _mpnet_ids(graph) if shape.is_mpnet else IDS)
    x = graph.add("Add", words, graph.add("Gather", graph.weight("encoder.places.weight"), places, axis=0))
    x = graph.norm(graph.add("Add", x, types), "encoder.norm", shape.norm_epsilon)
    bias = _add_relative_bias(graph, shape, steps) if shape.is_mpnet else None
    for i in range(shape.layers):
        x = _add_layer(graph, shape, linear, x, bias, f"encoder.layers.{i}")
    return x


def _add_layer(graph: Graph, shape: EncoderShape, linear: Linear, x: str, bias: str | None, name: str) -> str:
    size = shape.hidden // shape.heads
    split = graph.add("Reshape", linear(graph, x, f"{name}.qkv"), graph.integers(0, 0, 3, shape.heads, size))
    qkv = graph.add("Transpose", split, perm=[2, 0, 3, 1, 4])
    q, k, v = (graph.add("Gather", qkv, graph.integer(i), axis=0) for i in range(3))
    q = graph.add("Mul", q, graph.number(size**-0.5))
    scores = graph.add("MatMul", q, graph.add("Transpose", k, perm=[0, 1, 3, 2]))
    if bias:
        scores = graph.add("Add", scores, bias)
    seen = graph.add("MatMul", graph.add("Softmax", scores, axis=-1), v)
    seen = graph.add("Transpose", seen, perm=[0, 2, 1, 3])
    seen = graph.add("Reshape", seen, graph.integers(0, 0, shape.hidden))
    x = graph.add("Add", x, linear(graph, seen, f"{name}.out"))
    x = graph.norm(x, f"{name}.norm1", shape.norm_epsilon)
    inner = graph.add("Gelu", linear(graph, x, f"{name}.inner"))
    x = graph.add("Add", x, linear(graph, inner, f"{name}.outer"))
    return graph.norm(x, f"{name}.norm2", shape.norm_epsilon)


def _mpnet_ids(graph: Graph) -> str:
    """The tokenizer gives BERT's ids; MPNet's table has them four rows later and its special tokens first."""
    ids = graph.add("Add", IDS, graph.integer(MPNET_ID_SHIFT))
    for bert_id, mpnet_id in ((CLS, MPNET_CLS), (SEP, MPNET_SEP)):
        is_special = graph.add("Equal", IDS, graph.integer(bert_id))
        ids = graph.add("Where", is_special, graph.integer(mpnet_id), ids)
    return ids


def _add_relative_bias(graph: Graph, shape: EncoderShape, steps: str) -> str:
    """What is added to the attention scores of each head, by the distance of query and key."""
    farthest = shape.max_positions
    table = graph.tensor("relative_bias", graph.weights["encoder.rel.weight"][relative_buckets(farthest)])
    queries, keys = (graph.add("Unsqueeze", steps, graph.integers(axis)) for axis in (1, 0))
    distances = graph.add("Add", graph.add("Sub", queries, keys), graph.integer(farthest))
    biases = graph.add("Transpose", graph.add("Gather", table, distances, axis=0), perm=[2, 0, 1])
    return graph.add("Unsqueeze", biases, graph.integers(0))
