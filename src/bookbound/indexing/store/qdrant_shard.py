"""Reads and writes one Qdrant collection: the chunks of one generation with their vectors."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING, Any
from uuid import UUID

from bookbound.domain.chunk import Chunk
from bookbound.domain.errors import CorruptIndexError
from bookbound.indexing.store import serialization
from bookbound.indexing.store.edge_bm25 import Sparse
from bookbound.indexing.store.hybrid_index import DENSE_WEIGHT, IndexPoint, SearchHit
from bookbound.indexing.store.qdrant_client import QdrantConnection
from bookbound.indexing.store.serialization import DENSE_VECTOR, SPARSE_VECTOR

if TYPE_CHECKING:
    from qdrant_client import models


MANIFEST_POINT_ID = str(UUID(int=0))
"""The one point that is no chunk and has no vectors: what the generation says of itself."""
BATCH_SIZE, MAX_BATCHES_IN_FLIGHT = 64, 4
"""How many points are sent at once, and how many such batches may be under way before one of them has been kept."""
_SCROLL_PAGE_SIZE = 1_000


class QdrantShard:
    """One collection, and the connection to close with it."""

    def __init__(self, line: QdrantConnection, name: str, connection: AsyncExitStack | None = None) -> None:
        self._line = line
        self._name = name
        self._connection = connection

    async def put(self, points: Sequence[IndexPoint]) -> None:
        """Keep points; a batch is sent only where the server has taken in all but a few of those before it."""
        batches = iter([points[at : at + BATCH_SIZE] for at in range(0, len(points), BATCH_SIZE)])

        async def send() -> None:
            for batch in batches:
                await self._send([_to_point(point) for point in batch])

        try:
            async with asyncio.TaskGroup() as sending:
                for _ in range(MAX_BATCHES_IN_FLIGHT):
                    sending.create_task(send())
        except ExceptionGroup as several:
            raise several.exceptions[0] from None

    async def fuse(self, meaning: list[float], words: Sparse, limit: int) -> list[SearchHit]:
        from qdrant_client import models

        halves = [models.Prefetch(query=meaning, using=DENSE_VECTOR, limit=limit)] * DENSE_WEIGHT
        if words.indices:
            halves.append(models.Prefetch(query=_to_sparse_vector(words), using=SPARSE_VECTOR, limit=limit))
        fusion = models.FusionQuery(fusion=models.Fusion.DBSF)
        return await self._hits(query=fusion, prefetch=halves, limit=2 * limit)

    async def match(self, words: Sparse, limit: int) -> list[SearchHit]:
        return (
            await self._hits(query=_to_sparse_vector(words), using=SPARSE_VECTOR, limit=limit) if words.indices else []
        )

    async def fetch(self, ids: list[str]) -> list[tuple[Chunk, Sequence[float]]]:
        if not ids:
            return []
        found = await self._line.ask(lambda client: client.retrieve(self._name, ids, with_vectors=[DENSE_VECTOR]))
        return [(_to_chunk(each), _dense_vector(each)) for each in found]

    async def scan(self, file: str | None = None) -> list[Chunk]:
        from qdrant_client import models

        match = models.MatchValue(value=file or "")
        only = models.Filter(
            must=None if file is None else [models.FieldCondition(key="file", match=match)],
            must_not=[models.HasIdCondition(has_id=[MANIFEST_POINT_ID])],
        )
        chunks: list[Chunk] = []
        start: models.ExtendedPointId | None = None
        while True:
            page, start = await self._page(only, start)
            chunks += map(_to_chunk, page)
            if start is None:
                return chunks

    async def close(self) -> None:
        if self._connection:
            await self._connection.aclose()

    async def _send(self, batch: list[models.PointStruct]) -> None:
        await self._line.ask(lambda client: client.upsert(self._name, batch, wait=True))

    async def _page(
        self, only: models.Filter, start: models.ExtendedPointId | None
    ) -> tuple[list[models.Record], models.ExtendedPointId | None]:
        return await self._line.ask(lambda client: client.scroll(self._name, only, _SCROLL_PAGE_SIZE, offset=start))

    async def _hits(self, **query: Any) -> list[SearchHit]:
        found = await self._line.ask(lambda client: client.query_points(self._name, with_payload=False, **query))
        return [SearchHit(str(hit.id), hit.score) for hit in found.points]


def _to_point(point: IndexPoint) -> models.PointStruct:
    from qdrant_client import models

    chunk, meaning, words = point
    return models.PointStruct(
        id=chunk.id,
        vector={DENSE_VECTOR: meaning, SPARSE_VECTOR: _to_sparse_vector(words)},
        payload=serialization.dump_chunk(chunk),
    )


def _to_sparse_vector(words: Sparse) -> models.SparseVector:
    from qdrant_client import models

    return models.SparseVector(indices=words.indices, values=words.values)


def _to_chunk(found: models.Record) -> Chunk:
    return serialization.load_chunk(str(found.id), found.payload)


def _dense_vector(found: models.Record) -> Sequence[float]:
    vector = found.vector.get(DENSE_VECTOR) if isinstance(found.vector, dict) else None
    if not isinstance(vector, list) or not vector:
        raise CorruptIndexError("The collection holds a chunk without its vector. Index the book again.")
    return vector  # type: ignore[return-value]
