"""Turns text into vectors; this module sends batches to embedding services and checks their vectors."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import numpy as np

from bookbound.domain.ports import Vectors
from bookbound.services import build_response_error

MAX_CONCURRENT_REQUESTS = 4


def normalize_vectors(rows: Any, count: int, dimension: int | None, service: str) -> Vectors:
    """Scales rows to length one, and refuses a wrong number of rows, a wrong dimension, and rows without direction."""
    try:
        matrix = np.asarray(rows, np.float64)
    except (ValueError, TypeError, OverflowError):
        raise build_response_error(service) from None
    if matrix.ndim != 2 or len(matrix) != count or matrix.shape[1] != (dimension or matrix.shape[1]):
        raise build_response_error(service)
    largest = np.max(np.abs(matrix), axis=1, keepdims=True, initial=0)
    if not np.all(np.isfinite(largest) & (largest > 0)):
        raise build_response_error(service)
    matrix = matrix / largest  # so that no square overflows
    return np.asarray(matrix / np.linalg.norm(matrix, axis=1, keepdims=True), np.float32)


async def embed_in_batches(
    texts: Sequence[str], size: int, embed: Callable[[Sequence[str]], Awaitable[Vectors]]
) -> Vectors:
    """Embeds any number of texts with a few concurrent requests of at most `size` texts; one failure ends them all."""
    slots = asyncio.Semaphore(MAX_CONCURRENT_REQUESTS)

    async def embed_batch(batch: Sequence[str]) -> Vectors:
        async with slots:
            return await embed(batch)

    tasks = [asyncio.ensure_future(embed_batch(texts[at : at + size])) for at in range(0, len(texts), size)]
    try:
        return np.concatenate(await asyncio.gather(*tasks))
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
