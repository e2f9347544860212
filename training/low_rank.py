"""Low-rank changes of layers: their mean, and the part of them that fits into a number of weights."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from training.constants import DOWN, UP
from training.quantization import Array, Weights


def join_adapters(adapters: Sequence[Weights]) -> Weights:
    """The mean of all changes and of all heads; the rank of a change is the sum of theirs."""
    joined: Weights = {}
    for name in adapters[0]:
        parts = [adapter[name] for adapter in adapters]
        if name.endswith(DOWN):
            joined[name] = np.concatenate(parts, 0)
        elif name.endswith(UP):
            joined[name] = np.concatenate(parts, 1) / len(parts)
        else:
            joined[name] = np.mean(parts, 0)
    return joined


def cut_adapter(adapter: Weights, max_weights: int) -> Weights:
    """Keeps the directions of all layers that change most for their size."""
    layers = [name.removesuffix(DOWN) for name in adapter if name.endswith(DOWN)]
    parts = {name: _split_directions(adapter[name + UP], adapter[name + DOWN]) for name in layers}
    ranked = sorted(
        (
            (strength**2 / (len(ups) + len(downs)), name)
            for name, (ups, downs, strengths) in parts.items()
            for strength in strengths
        ),
        reverse=True,
    )
    ranks, left = dict.fromkeys(layers, 0), max_weights
    for _, name in ranked:
        left -= len(parts[name][0]) + len(parts[name][1])
        if left < 0:
            break
        ranks[name] += 1
    cut = {name: values for name, values in adapter.items() if not name.endswith((DOWN, UP))}
    for name, (ups, downs, strengths) in parts.items():
        roots = np.sqrt(strengths[: ranks[name]])
        cut[name + DOWN] = (downs[:, : ranks[name]] * roots).T
        cut[name + UP] = ups[:, : ranks[name]] * roots
    return cut


def _split_directions(up: Array, down: Array) -> tuple[Array, Array, Array]:
    """The orthogonal directions of a change in its output and its input, and their strengths, strongest first."""
    (left, one), (right, two) = np.linalg.qr(up.astype(np.float64)), np.linalg.qr(down.astype(np.float64).T)
    turned, strengths, back = np.linalg.svd(one @ two.T)
    return left @ turned, right @ back.T, strengths
