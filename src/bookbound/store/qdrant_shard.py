"""One collection of a Qdrant server: the chunks of one generation, with their two vectors."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING, Any
from uuid import UUID

from bookbound.book import Chunk
from bookbound.errors import DamagedIndex
from bookbound.store import records
from bookbound.store.bm25 import Sparse
from bookbound.store.hybrid import MEANING_COUNTS, Hit
from bookbound.store.intake import Point
from bookbound.store.qdrant_line import Line
from bookbound.store.records import MEANING, WORDS

if TYPE_CHECKING:
    from qdrant_client import models

NOTE = str(UUID(int=0))
"""The one point that is no chunk and has no vectors: what the generation says of itself."""
BATCH, IN_FLIGHT = 64, 4
"""How many points are sent at once, and how many such batches may be under way before one of them has been kept."""
_PAGE = 1_000


class QdrantShard:
    """One collection, and the connection to close with it."""

    def __init__(self, line: Line, name: str, connection: AsyncExitStack | None = None) -> None:
        self._line = line
        self._name = name
        self._connection = connection

    async def put(self, points: Sequence[Point]) -> None:
        """Keep points; a batch is sent only where the server has taken in all but a few of those before it."""
        batches = iter([points[at : at + BATCH] for at in range(0, len(points), BATCH)])

        async def send() -> None:
            for batch in batches:
                await self._send([_kept(point) for point in batch])

        try:
            async with asyncio.TaskGroup() as sending:
                for _ in range(IN_FLIGHT):
                    sending.create_task(send())
        except ExceptionGroup as several:
            raise several.exceptions[0] from None

    async def fuse(self, meaning: list[float], words: Sparse, limit: int) -> list[Hit]:
        from qdrant_client import models

        halves = [models.Prefetch(query=meaning, using=MEANING, limit=limit)] * MEANING_COUNTS
        if words.indices:
            halves.append(models.Prefetch(query=_sparse(words), using=WORDS, limit=limit))
        fusion = models.FusionQuery(fusion=models.Fusion.DBSF)
        return await self._hits(query=fusion, prefetch=halves, limit=2 * limit)

    async def match(self, words: Sparse, limit: int) -> list[Hit]:
        return await self._hits(query=_sparse(words), using=WORDS, limit=limit) if words.indices else []

    async def fetch(self, ids: list[str]) -> list[tuple[Chunk, Sequence[float]]]:
        if not ids:
            return []
        found = await self._line.ask(lambda client: client.retrieve(self._name, ids, with_vectors=[MEANING]))
        return [(_chunk(each), _meaning(each)) for each in found]

    async def scan(self, file: str | None = None) -> list[Chunk]:
        from qdrant_client import models

        match = models.MatchValue(value=file or "")
        only = models.Filter(
            must=None if file is None else [models.FieldCondition(key="file", match=match)],
            must_not=[models.HasIdCondition(has_id=[NOTE])],
        )
        chunks: list[Chunk] = []
        start: models.ExtendedPointId | None = None
        while True:
            page, start = await self._page(only, start)
            chunks += map(_chunk, page)
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
        return await self._line.ask(lambda client: client.scroll(self._name, only, _PAGE, offset=start))

    async def _hits(self, **query: Any) -> list[Hit]:
        found = await self._line.ask(lambda client: client.query_points(self._name, with_payload=False, **query))
        return [Hit(str(hit.id), hit.score) for hit in found.points]


def _kept(point: Point) -> models.PointStruct:
    from qdrant_client import models

    chunk, meaning, words = point
    return models.PointStruct(
        id=chunk.id, vector={MEANING: meaning, WORDS: _sparse(words)}, payload=records.record(chunk)
    )


def _sparse(words: Sparse) -> models.SparseVector:
    from qdrant_client import models

    return models.SparseVector(indices=words.indices, values=words.values)


def _chunk(found: models.Record) -> Chunk:
    return records.chunk(str(found.id), found.payload)


def _meaning(found: models.Record) -> Sequence[float]:
    vector = found.vector.get(MEANING) if isinstance(found.vector, dict) else None
    if not isinstance(vector, list) or not vector:
        raise DamagedIndex("The collection holds a chunk without its vector. Index the book again.")
    return vector  # type: ignore[return-value]
