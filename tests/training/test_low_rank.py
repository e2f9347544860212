"""The mean of adapters is the mean of their changes, and cutting it keeps what changes most."""

from __future__ import annotations

import numpy as np
import pytest
from training.constants import DOWN, UP
from training.low_rank import cut_adapter, join_adapters
from training.quantization import Array, Weights

HEAD_BIAS = "supported.2.bias"
RNG = np.random.default_rng(0)


def make_adapter(strength: float = 1.0) -> Weights:
    layers = {"wide": (12, 6), "narrow": (4, 6)}
    weights = {name + DOWN: RNG.normal(size=(2, size)) for name, (_, size) in layers.items()}
    weights |= {name + UP: strength * RNG.normal(size=(size, 2)) for name, (size, _) in layers.items()}
    return weights | {HEAD_BIAS: RNG.normal(size=1)}


def change(adapter: Weights, name: str) -> Array:
    product: Array = adapter[name + UP] @ adapter[name + DOWN]
    return product


@pytest.mark.parametrize("name", ["wide", "narrow"])
def test_the_joined_change_is_the_mean_of_the_changes(name: str) -> None:
    one, two = make_adapter(), make_adapter()
    joined = join_adapters([one, two])
    assert np.allclose(change(joined, name), (change(one, name) + change(two, name)) / 2)
    assert np.allclose(joined[HEAD_BIAS], (one[HEAD_BIAS] + two[HEAD_BIAS]) / 2)


def test_an_adapter_that_is_small_enough_keeps_its_changes() -> None:
    adapter = make_adapter()
    cut = cut_adapter(adapter, max_weights=1000)
    assert all(np.allclose(change(cut, name), change(adapter, name)) for name in ("wide", "narrow"))


def test_a_cut_adapter_has_at_most_so_many_weights_and_changes_as_little_as_possible() -> None:
    adapter = make_adapter()
    adapter["wide" + UP] *= 100
    cut = cut_adapter(adapter, max_weights=2 * 18 + 9)
    assert sum(values.size for name, values in cut.items() if name != HEAD_BIAS) <= 2 * 18 + 9
    assert np.allclose(change(cut, "wide"), change(adapter, "wide"))
    assert cut["narrow" + DOWN].size == 0
