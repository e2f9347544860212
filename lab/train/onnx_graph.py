"""Builds an ONNX graph node by node, with the ways to store and compute a linear layer."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from lab.train.constants import DOWN, UP
from lab.train.packed_weights import MIN_PACKED_SIZE, SCALE
from lab.train.quantization import LARGEST_4_BIT, LARGEST_7_BIT, LARGEST_8_BIT, Array, Weights, quantize_rows

OPSET, IR_VERSION = 20, 9
SMOOTHING = ".smoothing"
"""Weights of this ending say what the input of an integer layer is multiplied by (see `lab.train.smoothing`)."""


class Graph:
    """The nodes and tensors of a network; each method returns the name of what it adds."""

    def __init__(self, weights: Weights) -> None:
        self.weights = weights
        self._nodes: list[onnx.NodeProto] = []
        self._tensors: dict[str, onnx.TensorProto] = {}
        self._quantized: dict[str, tuple[str, str, str]] = {}
        self._switches: dict[str, tuple[str, str]] = {}

    def add(self, operator: str, *inputs: str, output: str = "", **attributes: Any) -> str:
        output = output or f"v{len(self._nodes)}"
        self._nodes.append(helper.make_node(operator, list(inputs), [output], **attributes))
        return output

    def tensor(self, name: str, values: Array) -> str:
        self._tensors.setdefault(name, numpy_helper.from_array(np.array(values, order="C"), name))
        return name

    def integer(self, value: int) -> str:
        return self.tensor(f"int_{value}", np.array(value, np.int64))

    def integers(self, *values: int) -> str:
        return self.tensor("ints_" + "_".join(map(str, values)), np.array(values, np.int64))

    def number(self, value: float) -> str:
        return self.tensor(f"float_{value}", np.array(value, np.float32))

    def weight(self, name: str) -> str:
        return self.tensor(name, self.weights[name].astype(np.float32))

    def norm(self, x: str, name: str, epsilon: float) -> str:
        weight, bias = self.weight(f"{name}.weight"), self.weight(f"{name}.bias")
        return self.add("LayerNormalization", x, weight, bias, axis=-1, epsilon=epsilon)

    def gather_rows(self, name: str, ids: str) -> str:
        """Rows of a table that is stored in 8 bits with one scale per row."""
        rows, scales = quantize_rows(self.weights[name], LARGEST_8_BIT)
        row = self.add("Cast", self.add("Gather", self.tensor(name, rows), ids, axis=0), to=TensorProto.FLOAT)
        scale = self.add("Gather", self.tensor(f"{name}.scale", scales), ids, axis=0)
        return self.add("Mul", row, self.add("Unsqueeze", scale, self.integers(-1)))

    def float_linear(self, x: str, name: str) -> str:
        """A layer that computes in full precision."""
        return self.add("Add", self.add("MatMul", x, self._float_matrix(f"{name}.weight")), self.weight(f"{name}.bias"))

    def _float_matrix(self, name: str) -> str:
        """A transposed matrix in full precision; a large one is stored in 8 bits and converted when it is opened."""
        matrix = self.weights[name]
        if matrix.size <= MIN_PACKED_SIZE:
            return self.tensor(name, matrix.astype(np.float32).T)
        rows, scales = quantize_rows(matrix, LARGEST_8_BIT)
        return self.add("DequantizeLinear", self.tensor(name, rows.T), self.tensor(name + SCALE, scales), axis=1)

    def adapted_linear(self, x: str, name: str, switch: str) -> str:
        """The same, with a low-rank change if the switch is on."""
        y = self.float_linear(x, name)
        if not self.weights.get(name + DOWN, np.empty(0)).size:
            return y
        condition, one = self._switch(switch)
        adapted = _make_branch(
            *self._convert_when_read(name + DOWN, one),
            helper.make_node("MatMul", [x, f"{name}{DOWN}.read"], [f"{y}.inner"]),
            *self._convert_when_read(name + UP, one),
            helper.make_node("MatMul", [f"{y}.inner", f"{name}{UP}.read"], [f"{y}.change"]),
            helper.make_node("Add", [y, f"{y}.change"], [f"{y}.adapted"]),
        )
        plain = _make_branch(helper.make_node("Identity", [y], [f"{y}.plain"]))
        return self.add("If", condition, then_branch=adapted, else_branch=plain)

    def _convert_when_read(self, name: str, one: str) -> list[onnx.NodeProto]:
        """Nodes of a branch that convert a transposed matrix of 4-bit integers each time: it takes less memory.

        Its scales are multiplied by 1, which is not a constant: constants are converted when the network is opened.
        """
        rows, scales = quantize_rows(self.weights[name], LARGEST_4_BIT)
        stored, scale = self.tensor(name, rows.T), self.tensor(name + SCALE, scales)
        return [
            helper.make_node("Mul", [scale, one], [f"{name}.scale_read"]),
            helper.make_node("DequantizeLinear", [stored, f"{name}.scale_read"], [f"{name}.read"], axis=1),
        ]

    def _switch(self, name: str) -> tuple[str, str]:
        """An input of one number, 0 if it is not given: as a truth value and as a number."""
        if name not in self._switches:
            self.tensor(name, np.zeros((1, 1), np.int64))
            given = self.add("Squeeze", name)
            self._switches[name] = (
                self.add("Cast", given, to=TensorProto.BOOL),
                self.add("Cast", given, to=TensorProto.FLOAT),
            )
        return self._switches[name]

    def integer_linear(self, x: str, name: str) -> str:
        """A layer that multiplies integers: 7-bit weights and activations that are quantised to 8 bits on the way."""
        if f"{name}{SMOOTHING}" in self.weights:
            x = self.add("Mul", x, self.weight(f"{name}{SMOOTHING}"))
        rows, scales = quantize_rows(self.weights[f"{name}.weight"], LARGEST_7_BIT)
        stored, scale = self.tensor(f"{name}.weight", rows.T), self.tensor(f"{name}.weight.scale", scales)
        zero = self.tensor(f"{name}.weight.zero", np.zeros(len(scales), np.int8))
        x_rows, x_scale, x_zero = self._quantize(x)
        product = self.add("Cast", self.add("MatMulInteger", x_rows, stored, x_zero, zero), to=TensorProto.FLOAT)
        scaled = self.add("Mul", product, self.add("Mul", x_scale, scale))
        return self.add("Add", scaled, self.weight(f"{name}.bias"))

    def _quantize(self, x: str) -> tuple[str, str, str]:
        if x not in self._quantized:
            outputs = (f"{x}.rows", f"{x}.scale", f"{x}.zero")
            self._nodes.append(helper.make_node("DynamicQuantizeLinear", [x], list(outputs)))
            self._quantized[x] = outputs
        return self._quantized[x]

    def model(self, inputs: list[str], outputs: dict[str, list[str | int]]) -> onnx.ModelProto:
        given = [helper.make_tensor_value_info(name, TensorProto.INT64, ["batch", "length"]) for name in inputs]
        given += [helper.make_tensor_value_info(name, TensorProto.INT64, [1, 1]) for name in self._switches]
        made = [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in outputs.items()]
        graph = helper.make_graph(self._nodes, "bookbound", given, made, list(self._tensors.values()))
        opsets = [helper.make_opsetid("", OPSET)]
        return helper.make_model(graph, opset_imports=opsets, ir_version=IR_VERSION)


def _make_branch(*nodes: onnx.NodeProto) -> onnx.GraphProto:
    """A branch that returns what its last node computes."""
    output = nodes[-1].output[0]
    return helper.make_graph(nodes, output, [], [helper.make_tensor_value_info(output, TensorProto.FLOAT, None)])
