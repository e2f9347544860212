"""One folder of Qdrant Edge: the chunks of one generation, with their two vectors."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import cast

import qdrant_edge as edge

from bookbound.book import Chunk
from bookbound.errors import DamagedIndex, IndexTrouble
from bookbound.store import files, records
from bookbound.store.bm25 import Sparse
from bookbound.store.hybrid import MEANING_COUNTS, Hit
from bookbound.store.intake import Point
from bookbound.store.records import MEANING, WORDS

_PAGE = 100  # Edge keeps every other thread waiting while it fetches one


class EdgeShard:
    """A folder that Edge reads and writes, without a log: flushing each batch keeps what a log would keep."""

    def __init__(self, shard: edge.EdgeShard, gone: Sequence[Path] = ()) -> None:
        self._shard = shard
        self._gone = gone
        self._closed = False

    @classmethod
    def create(cls, folder: Path, dimension: int) -> EdgeShard:
        config = edge.EdgeConfig(  # Cold, or loading would fill the holes in the files of vectors: 33 MB for any book
            vectors={MEANING: edge.EdgeVectorParams(dimension, edge.Distance.Cosine, memory=edge.Memory.Cold)},
            sparse_vectors={WORDS: edge.EdgeSparseVectorParams(modifier=edge.Modifier.Idf)},
            optimizers=edge.EdgeOptimizersConfig(indexing_threshold=1),  # whether to optimise is decided above
            wal_enabled=False,
        )
        with _writing():
            shard = edge.EdgeShard.create(str(folder), config)
            shard.update(edge.UpdateOperation.create_field_index("file", edge.PayloadSchemaType.Keyword))
        return cls(shard)

    def put(self, points: Sequence[Point]) -> None:
        kept = [
            edge.Point(chunk.id, {MEANING: meaning, WORDS: words}, records.record(chunk))
            for chunk, meaning, words in points
        ]
        with _writing():
            self._shard.update(edge.UpdateOperation.upsert_points(kept))
            self._shard.flush()

    async def fuse(self, meaning: list[float], words: Sparse, limit: int) -> list[Hit]:
        near = edge.Prefetch(limit, edge.Query.Nearest(meaning, using=MEANING))
        worded = edge.Prefetch(limit, edge.Query.Nearest(words, using=WORDS))
        fusion = cast(edge.Fusion, edge.Fusion.Dbsf())
        return self._hits(edge.QueryRequest(2 * limit, query=fusion, prefetches=[near] * MEANING_COUNTS + [worded]))

    async def match(self, words: Sparse, limit: int) -> list[Hit]:
        return self._hits(edge.QueryRequest(limit, query=edge.Query.Nearest(words, using=WORDS)))

    async def fetch(self, ids: list[str]) -> list[tuple[Chunk, Sequence[float]]]:
        with self._reading():
            found = self._shard.retrieve([*ids], with_payload=True, with_vector=[MEANING])
        return [
            (records.chunk(str(each.id), each.payload), cast("dict[str, list[float]]", each.vector)[MEANING])
            for each in found
        ]

    async def scan(self, file: str | None = None) -> list[Chunk]:
        return await asyncio.to_thread(self._scanned, file)

    async def close(self) -> None:
        self._closed = True
        # Edge writes a last word on closing, and takes long to complain where the folder for it is gone.
        with files.standing(self._gone):
            self._shard.close()

    def _scanned(self, file: str | None) -> list[Chunk]:
        only = None if file is None else edge.Filter(must=[edge.FieldCondition("file", edge.MatchValue(file))])
        chunks: list[Chunk] = []
        start, more = None, True
        while more:
            with self._reading():
                page, start = self._shard.scroll(edge.ScrollRequest(start, _PAGE, only, with_payload=True))
            chunks += [records.chunk(str(each.id), each.payload) for each in page]
            more = start is not None
        return chunks

    def _hits(self, request: edge.QueryRequest) -> list[Hit]:
        with self._reading():
            return [Hit(str(hit.id), hit.score) for hit in self._shard.query(request)]

    @contextmanager
    def _reading(self) -> Iterator[None]:
        try:
            yield
        except Exception as trouble:  # Edge raises nothing more precise
            if self._closed:
                raise IndexTrouble("This index was closed. Open it again to go on reading.") from trouble
            raise DamagedIndex("The index can no longer be read. Open it again, or index the book again.") from trouble


@contextmanager
def _writing() -> Iterator[None]:
    try:
        yield
    except Exception as trouble:  # Edge raises nothing more precise
        raise IndexTrouble("The index could not be written. Check its folder and disk, then try again.") from trouble
