"""`python -m training.export`: exports trained weights as ONNX networks, in full precision and in int8.

The graph uses the fused operators of onnxruntime, which the quantiser recognises. Weights are quantised per channel,
activations dynamically.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper
from onnxruntime.quantization import QuantType, quantize_dynamic
from safetensors.numpy import load_file
from training.constants import HEADS, HIDDEN, IMPOSSIBLE_LOGIT, LAYERS

Array = NDArray[Any]
Weights = dict[str, Array]
INPUTS = ("input_ids", "attention_mask", "token_type_ids")


class Graph:
    """Builds a graph; each operator's output is named after its content."""

    def __init__(self, weights: Weights) -> None:
        self.weights = weights
        self.nodes: list[onnx.NodeProto] = []
        self.constants: dict[str, onnx.TensorProto] = {}

    def put(self, operator: str, inputs: list[str], output: str, domain: str = "", **attributes: object) -> str:
        self.nodes.append(helper.make_node(operator, inputs, [output], output, domain=domain, **attributes))
        return output

    def constant(self, name: str, values: Array) -> str:
        self.constants[name] = numpy_helper.from_array(np.array(values, order="C"), name)
        return name

    def weight(self, name: str, transposed: bool = False) -> str:
        values = self.weights[name].astype(np.float32)
        return self.constant(name, values.T if transposed else values)

    def linear(self, x: str, name: str, output: str) -> str:
        product = self.put("MatMul", [x, self.weight(f"{name}.weight", transposed=True)], f"{output}.product")
        return self.put("Add", [product, self.weight(f"{name}.bias")], output)

    def add_and_norm(self, x: str, other: str, bias: str, norm: str, output: str) -> str:
        # Three operators are faster here than the fused one.
        x = self.put("Add", [x, self.weight(bias)], f"{output}.biased")
        x = self.put("Add", [x, other], f"{output}.sum")
        names = [x, self.weight(f"{norm}.weight"), self.weight(f"{norm}.bias")]
        return self.put("LayerNormalization", names, output, axis=-1, epsilon=1e-12)


def encoder(graph: Graph, types: str | None) -> str:
    """Embeds tokens; without types all belong to the first text."""
    shape = graph.put("Shape", ["input_ids"], "shape")
    length = graph.put("Gather", [shape, graph.constant("one", np.array(1))], "length")
    places = graph.put("Range", [graph.constant("zero", np.array(0)), length, "one"], "places")
    words = graph.put("Gather", [graph.weight("encoder.words.weight"), "input_ids"], "words")
    positions = graph.put("Gather", [graph.weight("encoder.places.weight"), places], "placed")
    x = graph.put("Add", [words, positions], "placed_words")
    if types is None:
        x = graph.put(
            "Add", [x, graph.constant("type", graph.weights["encoder.types.weight"][0].astype(np.float32))], "x"
        )
    else:
        x = graph.put("Add", [x, graph.put("Gather", [graph.weight("encoder.types.weight"), types], "typed")], "x")
    norm = [graph.weight("encoder.norm.weight"), graph.weight("encoder.norm.bias")]
    x = graph.put("LayerNormalization", [x, *norm], "start_of_layers", axis=-1, epsilon=1e-12)
    mask = graph.put("Cast", ["attention_mask"], "mask", to=TensorProto.INT32)
    for i in range(LAYERS):
        x = layer(graph, x, mask, f"encoder.layers.{i}")
    return x


def layer(graph: Graph, x: str, mask: str, name: str) -> str:
    qkv = [graph.weight(f"{name}.qkv.weight", transposed=True), graph.weight(f"{name}.qkv.bias")]
    seen = graph.put("Attention", [x, *qkv, mask], f"{name}.seen", "com.microsoft", num_heads=HEADS)
    out = graph.put("MatMul", [seen, graph.weight(f"{name}.out.weight", transposed=True)], f"{name}.attended")
    x = graph.add_and_norm(out, x, f"{name}.out.bias", f"{name}.norm1", f"{name}.between")
    inner = graph.put("MatMul", [x, graph.weight(f"{name}.inner.weight", transposed=True)], f"{name}.wide")
    inner = graph.put("BiasGelu", [inner, graph.weight(f"{name}.inner.bias")], f"{name}.bent", "com.microsoft")
    outer = graph.put("MatMul", [inner, graph.weight(f"{name}.outer.weight", transposed=True)], f"{name}.narrow")
    return graph.add_and_norm(outer, x, f"{name}.outer.bias", f"{name}.norm2", f"{name}.end")


def reader(weights: Weights) -> onnx.ModelProto:
    graph = Graph(weights)
    x = encoder(graph, "token_type_ids")
    inside = graph.put("Mul", ["token_type_ids", "attention_mask"], "inside")
    outside = graph.put("Equal", [inside, "zero"], "outside")
    first = graph.put("Gather", [x, "zero"], "first", axis=1)
    both = graph.linear(x, "span", "span")
    pointed = []
    for i, name in enumerate(("start", "end")):
        logits = graph.put("Gather", [both, graph.constant(f"at_{name}", np.array(i))], f"{name}_everywhere", axis=2)
        far = graph.constant("far", np.array(IMPOSSIBLE_LOGIT, np.float32))
        logits = graph.put("Where", [outside, far, logits], name)
        chance = graph.put("Softmax", [logits], f"{name}_chance", axis=1)
        axes = graph.constant("axis", np.array([1]))
        row = graph.put("Unsqueeze", [chance, axes], f"{name}_row")
        pointed.append(graph.put("Squeeze", [graph.put("MatMul", [row, x], f"{name}_mean"), axes], f"{name}_vector"))
    together = graph.put("Concat", [first, *pointed], "together", axis=1)
    head(graph, together, "answers")
    head(graph, first, "supported")
    shapes = {name: ["rows", "length"] for name in ("start", "end")} | {"answers": ["rows"], "supported": ["rows"]}
    return model(graph, INPUTS, shapes)


def head(graph: Graph, x: str, name: str) -> None:
    half = graph.constant("half", np.array(0.5, np.float32))
    wide = graph.linear(x, f"{name}.0", f"{name}.wide")
    root = graph.put("Div", [wide, graph.constant("root", np.array(2**0.5, np.float32))], f"{name}.root")
    share = graph.put(
        "Add",
        [graph.put("Erf", [root], f"{name}.erf"), graph.constant("unit", np.array(1, np.float32))],
        f"{name}.share",
    )
    bent = graph.put("Mul", [graph.put("Mul", [wide, share], f"{name}.twice"), half], f"{name}.bent")
    graph.put("Squeeze", [graph.linear(bent, f"{name}.2", f"{name}.one"), graph.constant("axis", np.array([1]))], name)


def embedder(weights: Weights) -> onnx.ModelProto:
    graph = Graph(weights)
    x = encoder(graph, None)
    axes = graph.constant("axis", np.array([1]))
    mask = graph.put("Cast", ["attention_mask"], "weight", to=TensorProto.FLOAT)
    row = graph.put("Unsqueeze", [mask, axes], "row")
    total = graph.put("Squeeze", [graph.put("MatMul", [row, x], "sums"), axes], "sum")
    graph.put("LpNormalization", [total], "embedding", axis=1, p=2)
    return model(graph, INPUTS[:2], {"embedding": ["rows", HIDDEN]})


def model(graph: Graph, inputs: tuple[str, ...], outputs: Mapping[str, Sequence[str | int]]) -> onnx.ModelProto:
    input_infos = [helper.make_tensor_value_info(name, TensorProto.INT64, ["rows", "length"]) for name in inputs]
    output_infos = [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in outputs.items()]
    made = helper.make_graph(graph.nodes, "bookbound", input_infos, output_infos, list(graph.constants.values()))
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]
    return helper.make_model(made, opset_imports=opsets, ir_version=8)


def quantize(full: Path, small: Path) -> None:
    """Quantises to int8 per channel; the small heads stay in full precision."""
    nodes = onnx.load(full).graph.node
    heads = [node.name for node in nodes if node.op_type == "MatMul" and not node.name.startswith("encoder.")]
    quantize_dynamic(
        full,
        small,
        op_types_to_quantize=["MatMul", "Attention", "Gather"],
        per_channel=True,
        weight_type=QuantType.QInt8,
        nodes_to_exclude=heads,
        extra_options={"MatMulConstBOnly": True, "DefaultTensorType": TensorProto.FLOAT},
    )


def optimize(file: Path) -> None:
    """Applies the simplifications that are valid on every machine, so that the network opens faster."""
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_EXTENDED
    optimized = file.with_suffix(".optimized")
    options.optimized_model_filepath = str(optimized)
    providers, left = ["CPUExecutionProvider"], ["SkipLayerNormFusion"]
    onnxruntime.InferenceSession(file, options, providers=providers, disabled_optimizers=left)
    optimized.replace(file)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("kind", choices=("reader", "embedder"))
    parser.add_argument("weights", type=Path)
    parser.add_argument(
        "--tables", type=Path, help="the pretrained encoder, for the token tables, which are not trained"
    )
    parser.add_argument(
        "--share", type=float, default=1.0, help="the share of the trained weights in the mean with the pretrained ones"
    )
    parser.add_argument("--out", type=Path, default=Path("training/out"))
    options = parser.parse_args()
    weights = load_file(options.weights)
    if options.kind == "embedder":
        weights = {f"encoder.{name}": value for name, value in weights.items()}
    if options.tables:
        weights = interpolate(pretrained(options.tables), weights, options.share)
    full, small = options.out / f"{options.kind}-fp32.onnx", options.out / f"{options.kind}-int8.onnx"
    onnx.save((reader if options.kind == "reader" else embedder)(weights), full)
    quantize(full, small)
    optimize(small)
    print(small, small.stat().st_size)


def pretrained(file: Path) -> Weights:
    from training.network import Encoder

    return {f"encoder.{name}": value.numpy() for name, value in Encoder.pretrained(file).state_dict().items()}


def interpolate(theirs: Weights, ours: Weights, share: float) -> Weights:
    """The pretrained weights, or a mean of both if there are trained ones."""
    mixed = {
        name: (1 - share) * theirs[name] + share * ours[name].astype(np.float32) if name in ours else theirs[name]
        for name in theirs
    }
    return ours | mixed


if __name__ == "__main__":
    main()
