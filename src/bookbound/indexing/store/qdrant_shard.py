"""Reads and writes one Qdrant collection: the chunks of one generation with their vectors."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack
from typing import Any
from uuid import UUID

from qdrant_client import models

from bookbound.domain.chunk import Chunk
from bookbound.domain.errors import CorruptIndexError
from bookbound.domain.question import Deadline
from bookbound.indexing.store import index_format
from bookbound.indexing.store.edge_shard import SparseVector
from bookbound.indexing.store.index_format import DENSE_VECTOR, DENSE_WEIGHT, SPARSE_VECTOR, IndexPoint, SearchHit
from bookbound.indexing.store.qdrant_client import QdrantConnection

MANIFEST_POINT_ID, HEARTBEAT_POINT_ID = str(UUID(int=0)), str(UUID(int=2**128 - 1))
"""The only points that are not chunks: they have no vectors and describe the generation."""
BATCH_SIZE, MAX_BATCHES_IN_FLIGHT = 64, 4  # one batch is turned into JSON while the server stores the others
_SCROLL_PAGE_SIZE = 1_000
OVERSAMPLING = 2.0
"""How many times the wanted points a search by quantised vectors finds, before the exact vectors choose among them."""
SEARCH_BEAM = 512
"""How many points a search in the graph of a large collection keeps as the nearest ones so far."""


class QdrantShard:
    """One collection, and the resources to close with it."""

    def __init__(self, connection: QdrantConnection, name: str, resources: AsyncExitStack | None = None) -> None:
        self._connection = connection
        self._name = name
        self._resources = resources

    def within(self, deadline: Deadline) -> QdrantShard:
        return QdrantShard(self._connection.within(deadline), self._name)

    async def put(self, points: Sequence[IndexPoint]) -> None:
        """Stores points with a few concurrent requests, and waits for all of them."""
        batches = iter([points[at : at + BATCH_SIZE] for at in range(0, len(points), BATCH_SIZE)])

        async def send(batch: list[models.PointStruct]) -> None:
            await self._connection.call(lambda client: client.upsert(self._name, batch, wait=True))

        async def send_batches() -> None:
            for batch in batches:
                await send([_to_point(point) for point in batch])

        try:
            async with asyncio.TaskGroup() as tasks:
                for _ in range(MAX_BATCHES_IN_FLIGHT):
                    tasks.create_task(send_batches())
        except ExceptionGroup as errors:
            raise errors.exceptions[0] from None

    async def fuse(self, dense: list[float], sparse: SparseVector, limit: int) -> list[SearchHit]:
        by_meaning = models.Prefetch(query=dense, using=DENSE_VECTOR, limit=limit, params=dense_search_params())
        prefetches = [by_meaning] * DENSE_WEIGHT
        if sparse.indices:
            prefetches.append(models.Prefetch(query=_to_sparse_vector(sparse), using=SPARSE_VECTOR, limit=limit))
        fusion = models.FusionQuery(fusion=models.Fusion.DBSF)
        return await self._query(query=fusion, prefetch=prefetches, limit=2 * limit)

    async def match(self, sparse: SparseVector, limit: int) -> list[SearchHit]:
        if not sparse.indices:
            return []
        return await self._query(query=_to_sparse_vector(sparse), using=SPARSE_VECTOR, limit=limit)

    async def fetch(self, ids: list[str]) -> list[tuple[Chunk, Sequence[float]]]:
        if not ids:
            return []
        points = await self._connection.call(
            lambda client: client.retrieve(self._name, ids, with_vectors=[DENSE_VECTOR])
        )
        return [(index_format.load_chunk(str(point.id), point.payload), _dense_vector(point)) for point in points]

    async def scan(self, file: str | None = None) -> AsyncIterator[list[Chunk]]:
        async for page in self._connection.scroll(self._name, _SCROLL_PAGE_SIZE, only_chunks(file)):
            yield [index_format.load_chunk(str(point.id), point.payload) for point in page]

    async def close(self) -> None:
        if self._resources:
            await self._resources.aclose()

    async def _query(self, **query: Any) -> list[SearchHit]:
        found = await self._connection.call(lambda client: client.query_points(self._name, with_payload=False, **query))
        return [SearchHit(str(hit.id), hit.score) for hit in found.points]


def dense_search_params(beam: int = SEARCH_BEAM) -> models.SearchParams:
    """How a search by dense vectors uses the quantised vectors and the graph."""
    quantized = models.QuantizationSearchParams(rescore=True, oversampling=OVERSAMPLING)
    return models.SearchParams(hnsw_ef=beam, quantization=quantized)


def only_chunks(file: str | None = None) -> models.Filter:
    """Matches the chunks, or those of one file."""
    match = models.MatchValue(value=file or "")
    return models.Filter(
        must=None if file is None else [models.FieldCondition(key="file", match=match)],
        must_not=[models.HasIdCondition(has_id=[MANIFEST_POINT_ID, HEARTBEAT_POINT_ID])],
    )


def _to_point(point: IndexPoint) -> models.PointStruct:
    chunk, dense, sparse = point
    return models.PointStruct(
        id=chunk.id,
        vector={DENSE_VECTOR: dense, SPARSE_VECTOR: _to_sparse_vector(sparse)},
        payload=index_format.dump_chunk(chunk),
    )


def _to_sparse_vector(sparse: SparseVector) -> models.SparseVector:
    return models.SparseVector(indices=sparse.indices, values=sparse.values)


def _dense_vector(point: models.Record) -> Sequence[float]:
    vector = point.vector.get(DENSE_VECTOR) if isinstance(point.vector, dict) else None
    if not isinstance(vector, list) or not vector:
        raise CorruptIndexError("The collection has a chunk without its vector. Index the book again.")
    return vector  # type: ignore[return-value]
