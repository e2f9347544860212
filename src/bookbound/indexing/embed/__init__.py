"""Turns text into vectors; this module sends batches to embedding services and checks their vectors."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from bookbound.services import build_response_error

if TYPE_CHECKING:
    from bookbound.domain.ports import Vectors


MAX_CONCURRENT_REQUESTS = 4
"""Requests in flight for one call."""


def normalize_vectors(rows: Any, count: int, dimension: int | None, service: str) -> Vectors:
    """The rows at length one; as many as there were texts, of one dimension, and each with a direction."""
    try:
        matrix = np.asarray(rows, np.float64)
    except (ValueError, TypeError, OverflowError):
        raise build_response_error(service) from None
    if matrix.ndim != 2 or len(matrix) != count or matrix.shape[1] != (dimension or matrix.shape[1]):
        raise build_response_error(service)
    largest = np.max(np.abs(matrix), axis=1, keepdims=True, initial=0)
    if not np.all(np.isfinite(largest) & (largest > 0)):
        raise build_response_error(service)
    matrix = matrix / largest  # so that no square is beyond all measure
    return np.asarray(matrix / np.linalg.norm(matrix, axis=1, keepdims=True), np.float32)


async def embed_in_batches(
    texts: Sequence[str], most: int, embed: Callable[[Sequence[str]], Awaitable[Vectors]]
) -> Vectors:
    """The vectors of any number of texts, at most `most` a request and a few requests at once; one failure ends all."""
    room = asyncio.Semaphore(MAX_CONCURRENT_REQUESTS)

    async def one(batch: Sequence[str]) -> Vectors:
        async with room:
            return await embed(batch)

    tasks = [asyncio.ensure_future(one(texts[at : at + most])) for at in range(0, len(texts), most)]
    try:
        return np.concatenate(await asyncio.gather(*tasks))
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
