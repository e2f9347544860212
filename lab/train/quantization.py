"""Stores a matrix as small integers with one scale per row, and makes the activations of a layer fit 8 bits."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
Weights = dict[str, Array]
LARGEST_8_BIT, LARGEST_7_BIT, LARGEST_4_BIT = 127, 63, 7
"""Some CPUs add two products in 16 bits: that fits with 7-bit weights (2 * 255 * 63 < 32768), not with 8-bit ones."""
ACTIVATION_SHARE = 0.75
"""How much of the difference between channels goes into the weights: with 0.65 and 0.85 more spans change."""
SMALLEST, SMALLEST_FACTOR = 1e-5, 1e-2
SCALE_SHARES = np.arange(0.5, 1.01, 0.05)
"""The scales to try, as shares of the one at which nothing is clipped."""


def quantize_rows(matrix: Array, largest: int) -> tuple[Array, Array]:
    """The rows as integers from -largest to largest, and the scale of each row."""
    matrix = matrix.astype(np.float32)
    scales = np.abs(matrix).max(1, initial=0) / np.float32(largest)
    scales[scales == 0] = 1
    return round_rows(matrix, scales, largest), scales


def round_rows(matrix: Array, scales: Array, largest: int) -> Array:
    """The rows as multiples of their scales; what is larger than the largest one is clipped."""
    return np.clip(np.round(matrix / scales[:, None]), -largest, largest).astype(np.int8)


def fit_scales(matrix: Array, largest: int) -> Array:
    """The scale of each row with the smallest squared error: with few bits it is better to clip the largest values."""
    _, widest = quantize_rows(matrix, largest)
    steps = matrix / widest[:, None]  # errors in steps: the squares of small weights would be zero
    shares = np.repeat(SCALE_SHARES[:, None], len(matrix), 1)
    errors = [((dequantize_rows(round_rows(steps, each, largest), each) - steps) ** 2).sum(1) for each in shares]
    best: Array = widest * SCALE_SHARES[np.argmin(errors, 0)].astype(np.float32)
    return best


def pack_4_bits(rows: Array) -> Array:
    """Two integers from -7 to 7 in a byte."""
    if rows.shape[1] % 2:
        raise ValueError(f"Rows of {rows.shape[1]} integers cannot be packed: give them an even length.")
    shifted = (rows + 8).astype(np.uint8)
    packed: Array = shifted[:, ::2] | shifted[:, 1::2] << 4
    return packed


def dequantize_rows(rows: Array, scales: Array) -> Array:
    """The matrix that the rows and their scales stand for."""
    return rows.astype(np.float32) * scales[:, None]


def smooth_channels(matrix: Array, largest: Array) -> tuple[Array, Array]:
    """The matrix times the factors of its input channels, and the factors, by which the input is to be divided."""
    columns = np.maximum(np.abs(matrix).max(0), SMALLEST)
    factors = np.maximum(largest, SMALLEST) ** ACTIVATION_SHARE / columns ** (1 - ACTIVATION_SHARE)
    factors = np.maximum(factors / np.exp(np.log(factors).mean()), SMALLEST_FACTOR)
    return matrix * factors[None], factors
