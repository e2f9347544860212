"""A book whose editions can be told apart, and how an edition is published."""

from __future__ import annotations

from uuid import UUID

import numpy as np

from bookbound.domain.chunk import Chunk, Place
from bookbound.domain.manifest import Manifest
from bookbound.indexing.store.qdrant_store import QdrantStore

CHUNKS, DIMENSION, PAGE = 30, 16, "page.md"
BOOK = "chaos"


def make_store(urls: str, timeout: float = 5.0) -> QdrantStore:
    return QdrantStore(urls, collection=BOOK, shards=3, replicas=2, timeout=timeout)


def make_chunks(edition: int) -> list[Chunk]:
    place = Place(PAGE, "/page", "", "Page", (), "", 0, 9)
    return [
        Chunk(str(UUID(int=number + 1)), f"Sentence {number} of edition {edition}.", place, number)
        for number in range(CHUNKS)
    ]


def make_vectors(edition: int) -> np.ndarray[tuple[int, int], np.dtype[np.float32]]:
    return np.random.default_rng(edition).standard_normal((CHUNKS, DIMENSION)).astype(np.float32)


def make_manifest(edition: int) -> Manifest:
    return Manifest(str(edition), "markdown", "seeded", DIMENSION, "none", 5.0, 1, CHUNKS)


async def publish(store: QdrantStore, edition: int) -> Manifest:
    async with store.writer(make_manifest(edition)) as writer:
        chunks, vectors = make_chunks(edition), make_vectors(edition)
        for at in range(0, CHUNKS, 10):
            await writer.add(chunks[at : at + 10], vectors[at : at + 10])
        return await writer.publish()
