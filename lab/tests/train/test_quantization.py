"""Weights in few bits are close to the original, and stay the same when they are stored again."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from bookbound.models.networks import load_claim_weights
from lab.train.quantization import (
    LARGEST_4_BIT,
    LARGEST_7_BIT,
    LARGEST_8_BIT,
    Array,
    dequantize_rows,
    fit_scales,
    pack_4_bits,
    quantize_rows,
    round_rows,
    smooth_channels,
)
from lab.train.shapes import RELATIVE_BUCKETS, relative_buckets

MATRICES = arrays(np.float32, (4, 6), elements=st.floats(-100, 100, width=32, allow_subnormal=False))


@given(MATRICES, st.sampled_from([LARGEST_7_BIT, LARGEST_8_BIT]))
def test_a_weight_moves_by_at_most_half_a_step(matrix: Array, largest: int) -> None:
    rows, scales = quantize_rows(matrix, largest)
    assert np.abs(rows).max() <= largest
    assert np.all(np.abs(dequantize_rows(rows, scales) - matrix) <= 0.501 * scales[:, None])


@given(MATRICES)
def test_storing_again_changes_nothing(matrix: Array) -> None:
    rows, scales = quantize_rows(matrix, LARGEST_8_BIT)
    assert np.array_equal(quantize_rows(dequantize_rows(rows, scales), LARGEST_8_BIT)[0], rows)


def test_four_bits_are_closer_to_a_row_with_outliers_if_it_is_clipped() -> None:
    matrix = np.random.default_rng(0).normal(size=(8, 400)).astype(np.float32)
    matrix[0, 0] = 30
    scales = fit_scales(matrix, LARGEST_4_BIT)
    plain, clipped = quantize_rows(matrix, LARGEST_4_BIT), (round_rows(matrix, scales, LARGEST_4_BIT), scales)
    errors = [((dequantize_rows(*each) - matrix) ** 2).sum(1) for each in (plain, clipped)]
    assert np.all(errors[1] < errors[0])


@given(MATRICES)
@example(np.array([[5e-38, 2e-38, 1.3e-38, 0, 0, 0]], np.float32))
def test_rows_that_have_four_bits_keep_their_scales(matrix: Array) -> None:
    rows, scales = quantize_rows(matrix, LARGEST_4_BIT)
    found = fit_scales(dequantize_rows(rows, scales), LARGEST_4_BIT)
    assert np.array_equal(round_rows(dequantize_rows(rows, scales), found, LARGEST_4_BIT), rows)


def test_a_matrix_without_columns_has_scales() -> None:
    rows, scales = quantize_rows(np.empty((3, 0), np.float32), LARGEST_4_BIT)
    assert (rows.shape, scales.tolist()) == ((3, 0), [1.0] * 3)


@pytest.mark.parametrize("length", [1, 3, 5])
def test_rows_of_an_odd_length_are_not_packed(length: int) -> None:
    with pytest.raises(ValueError, match="even length"):
        pack_4_bits(np.ones((2, length), np.int8))


@given(MATRICES)
def test_factors_of_four_bits_survive_storage_in_eight(matrix: Array) -> None:
    rows, scales = quantize_rows(matrix, LARGEST_4_BIT)
    stored = dequantize_rows(*quantize_rows(dequantize_rows(rows, scales), LARGEST_8_BIT))
    assert np.array_equal(quantize_rows(stored, LARGEST_4_BIT)[0], rows)


@given(arrays(np.int8, (3, 8), elements=st.integers(-LARGEST_4_BIT, LARGEST_4_BIT)))
def test_packed_integers_are_loaded_as_they_were(rows: Array) -> None:
    with TemporaryDirectory() as folder:
        file = Path(folder, "weights.npz")
        np.savez(file, layer=pack_4_bits(rows))
        loaded = load_claim_weights(file)
    assert loaded["layer"].dtype == np.int8
    assert np.array_equal(loaded["layer"], rows)
    assert pack_4_bits(rows).nbytes == rows.nbytes / 2


def test_seven_bits_never_overflow_a_sum_of_two_products() -> None:
    assert 2 * 255 * LARGEST_7_BIT <= np.iinfo(np.int16).max < 2 * 255 * LARGEST_8_BIT


def quantize_input(x: Array) -> Array:
    """The input as 8 bits with one scale hold it."""
    step = np.abs(x).max() / LARGEST_8_BIT
    rounded: Array = np.round(x / step) * step
    return rounded


def test_smoothing_keeps_the_product_and_makes_an_input_with_outliers_exact() -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(50, 32))
    x[:, 3] *= 40
    matrix = rng.normal(size=(16, 32))
    smoothed, factors = smooth_channels(matrix, np.abs(x).max(0))
    assert np.allclose((x / factors) @ smoothed.T, x @ matrix.T)
    plain_error = np.abs(quantize_input(x) @ matrix.T - x @ matrix.T).mean()
    assert np.abs(quantize_input(x / factors) @ smoothed.T - x @ matrix.T).mean() < plain_error / 2


@pytest.mark.parametrize(
    ("distance", "bucket"),
    [(0, 0), (7, 7), (8, 8), (11, 8), (16, 10), (127, 15), (500, 15), (-1, 17), (-7, 23), (-8, 24), (-500, 31)],
)
def test_distances_share_buckets_as_in_mpnet(distance: int, bucket: int) -> None:
    buckets = relative_buckets(514)
    assert buckets[distance + 514] == bucket
    assert buckets.max() == RELATIVE_BUCKETS - 1
