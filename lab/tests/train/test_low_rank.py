"""The mean of deltas becomes an adapter that keeps what changes most."""

from __future__ import annotations

import numpy as np

from lab.train.constants import DELTA, DOWN
from lab.train.low_rank import average_deltas, multiply_factors, round_factors, truncate_deltas
from lab.train.quantization import LARGEST_4_BIT, Weights

HEAD_BIAS = "supported.2.bias"
RNG = np.random.default_rng(0)


def make_deltas(rank: int = 2) -> Weights:
    layers = {"wide": (12, 6), "narrow": (4, 6)}
    deltas = {
        name + DELTA: RNG.normal(size=(outputs, rank)) @ RNG.normal(size=(rank, inputs))
        for name, (outputs, inputs) in layers.items()
    }
    return deltas | {HEAD_BIAS: RNG.normal(size=1)}


def test_the_mean_of_deltas_is_that_of_their_matrices_and_of_their_heads() -> None:
    one, two = make_deltas(), make_deltas()
    mean = average_deltas([one, two])
    assert mean.keys() == one.keys()
    assert all(np.allclose(mean[name], (one[name] + two[name]) / 2) for name in mean)


def test_an_adapter_of_deltas_of_low_rank_changes_the_same() -> None:
    deltas = make_deltas()
    back = multiply_factors(truncate_deltas(deltas, max_weights=1000))
    assert back.keys() == deltas.keys()
    assert all(np.allclose(back[name], deltas[name]) for name in deltas)


def test_a_cut_adapter_has_at_most_so_many_weights_and_keeps_what_changes_most() -> None:
    deltas = make_deltas()
    deltas["wide" + DELTA] *= 100
    cut = truncate_deltas(deltas, max_weights=2 * 18 + 9)
    assert sum(values.size for name, values in cut.items() if name != HEAD_BIAS) <= 2 * 18 + 9
    assert np.allclose(multiply_factors(cut)["wide" + DELTA], deltas["wide" + DELTA])
    assert cut["narrow" + DOWN].size == 0


def test_a_cut_adapter_has_an_even_rank_because_two_weights_share_a_byte() -> None:
    cut = truncate_deltas(make_deltas(rank=3), max_weights=3 * 18 + 3 * 10)
    assert {len(values) for name, values in cut.items() if name.endswith(DOWN)} == {2}


def test_factors_are_rounded_to_the_bits_in_which_they_ship_and_deltas_are_not() -> None:
    deltas = make_deltas()
    assert all(np.array_equal(values, deltas[name]) for name, values in round_factors(deltas).items())
    cut = truncate_deltas(deltas, max_weights=1000)
    rounded = round_factors(cut)
    assert all(len(np.unique(np.abs(row))) <= LARGEST_4_BIT + 1 for row in rounded["wide" + DOWN])
    assert np.abs(rounded["wide" + DOWN] - cut["wide" + DOWN]).max() > 0


def test_a_layer_without_a_change_keeps_its_empty_factors() -> None:
    deltas = make_deltas()
    deltas["wide" + DELTA] *= 100
    rounded = round_factors(truncate_deltas(deltas, max_weights=2 * 18 + 9))
    assert rounded["narrow" + DOWN].shape == (0, 6)
    assert not multiply_factors(rounded)["narrow" + DELTA].any()
