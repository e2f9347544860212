"""Deltas of layers: their mean, and their truncated singular value decomposition, which is an adapter (LoRA)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from lab.train.constants import DELTA, DOWN, UP
from lab.train.quantization import LARGEST_4_BIT, Array, Weights, dequantize_rows, quantize_rows


def multiply_factors(adapter: Weights) -> Weights:
    """Multiplies the two factors of each layer of an adapter into a delta; deltas stay as they are."""
    layers = [name.removesuffix(DOWN) for name in adapter if name.endswith(DOWN)]
    others = {name: values for name, values in adapter.items() if not name.endswith((DOWN, UP))}
    return others | {name + DELTA: adapter[name + UP] @ adapter[name + DOWN] for name in layers}


def round_factors(adapter: Weights) -> Weights:
    """The adapter with its factors in the 4 bits in which they ship; deltas stay as they are."""
    return {
        name: dequantize_rows(*quantize_rows(values, LARGEST_4_BIT)) if name.endswith((DOWN, UP)) else values
        for name, values in adapter.items()
    }


def average_deltas(parts: Sequence[Weights]) -> Weights:
    """The mean of all deltas and of all heads."""
    return {name: np.mean([part[name] for part in parts], 0) for name in parts[0]}


def truncate_deltas(deltas: Weights, max_weights: int) -> Weights:
    """An adapter with the strongest directions of all layers, for the number of their weights."""
    layers = [name.removesuffix(DELTA) for name in deltas if name.endswith(DELTA)]
    parts = {name: np.linalg.svd(deltas[name + DELTA], full_matrices=False) for name in layers}
    ranked = sorted(
        ((strength**2 / _direction_size(part), name) for name, part in parts.items() for strength in part[1]),
        reverse=True,
    )
    ranks, left = dict.fromkeys(layers, 0), max_weights
    for _, name in ranked:
        left -= _direction_size(parts[name])
        if left < 0:
            break
        ranks[name] += 1
    cut = {name: values for name, values in deltas.items() if not name.endswith(DELTA)}
    for name, (ups, strengths, downs) in parts.items():
        rank = ranks[name] - ranks[name] % 2  # two weights share a byte
        # Each row of `down` has a scale of its own, so it takes the strength, and `up` keeps columns of length 1.
        cut[name + DOWN] = downs[:rank] * strengths[:rank, None]
        cut[name + UP] = ups[:, :rank]
    return cut


def _direction_size(part: tuple[Array, Array, Array]) -> int:
    """How many weights one direction of a delta has."""
    ups, _, downs = part
    return len(ups) + len(downs.T)
