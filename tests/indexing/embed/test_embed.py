from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import suppress

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bookbound.domain.errors import ServiceResponseError
from bookbound.domain.ports import Vectors
from bookbound.indexing.embed import MAX_CONCURRENT_REQUESTS, embed_in_batches, normalize_vectors

NUMBERS = st.floats(allow_nan=True, allow_infinity=True) | st.integers() | st.none() | st.booleans() | st.text()
LARGE = 10**400


@given(
    st.lists(st.lists(st.floats(-1e308, 1e308).filter(lambda x: abs(x) > 1e-300), min_size=3, max_size=3), min_size=1)
)
def test_numbers_of_any_size_become_rows_of_length_one(rows: list[list[float]]) -> None:
    vectors = normalize_vectors(rows, len(rows), 3, "embeddings")
    assert vectors.dtype == np.float32
    assert np.allclose(np.linalg.norm(vectors.astype(float), axis=1), 1, atol=1e-5)


@given(st.recursive(NUMBERS, lambda inner: st.lists(inner, max_size=3), max_leaves=12))
def test_any_reply_gives_vectors_or_a_response_error(rows: object) -> None:
    with suppress(ServiceResponseError):
        vectors = normalize_vectors(rows, 2, 2, "embeddings")
        assert vectors.shape == (2, 2)
        assert np.allclose(np.linalg.norm(vectors.astype(float), axis=1), 1, atol=1e-5)


@pytest.mark.parametrize(
    "rows",
    [[[1, 0]], [[1, 0]] * 3, [[1], [1]], [[1, 0], [1]], [[0, 0], [1, 0]], [[1, float("inf")]] * 2, [[LARGE, 1]] * 2],
)
def test_unexpected_rows_are_refused(rows: object) -> None:
    with pytest.raises(ServiceResponseError):
        normalize_vectors(rows, 2, 2, "embeddings")


def test_an_unknown_dimension_may_be_anything_but_zero() -> None:
    assert normalize_vectors([[3, 4]], 1, None, "embeddings").shape == (1, 2)
    with pytest.raises(ServiceResponseError):
        normalize_vectors([[]], 1, None, "embeddings")


def test_a_limited_number_of_batches_is_in_flight() -> None:
    flying: list[int] = []
    most = 0

    async def embed(texts: Sequence[str]) -> Vectors:
        nonlocal most
        flying.append(len(texts))
        most = max(most, len(flying))
        for _ in range(3):
            await asyncio.sleep(0)
        flying.pop()
        return np.array([[float(text)] for text in texts], np.float32)

    rows = asyncio.run(embed_in_batches([str(i) for i in range(95)], 10, embed))
    assert rows[:, 0].tolist() == list(range(95))
    assert most == MAX_CONCURRENT_REQUESTS
