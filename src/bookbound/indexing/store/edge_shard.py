"""Reads, writes and optimizes one Qdrant Edge shard: the chunks of one generation with their vectors."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import cast

import qdrant_edge as edge

from bookbound.domain.chunk import Chunk
from bookbound.domain.errors import BookIndexError, CorruptIndexError
from bookbound.filesystem import temp_copies
from bookbound.indexing.store import serialization
from bookbound.indexing.store.edge_bm25 import Sparse
from bookbound.indexing.store.hybrid_index import DENSE_WEIGHT, IndexPoint, SearchHit
from bookbound.indexing.store.serialization import DENSE_VECTOR, SPARSE_VECTOR

_SCROLL_PAGE_SIZE = 100  # Edge keeps every other thread waiting while it fetches one


class EdgeShard:
    """A folder that Edge reads and writes, without a log: flushing each batch keeps what a log would keep."""

    def __init__(self, shard: edge.EdgeShard, gone: Sequence[Path] = ()) -> None:
        self._shard = shard
        self._gone = gone
        self._closed = False

    @classmethod
    def create(cls, folder: Path, dimension: int) -> EdgeShard:
        config = edge.EdgeConfig(  # Cold, or loading would fill the holes in the files of vectors: 33 MB for any book
            vectors={DENSE_VECTOR: edge.EdgeVectorParams(dimension, edge.Distance.Cosine, memory=edge.Memory.Cold)},
            sparse_vectors={SPARSE_VECTOR: edge.EdgeSparseVectorParams(modifier=edge.Modifier.Idf)},
            optimizers=edge.EdgeOptimizersConfig(indexing_threshold=1),  # whether to optimise is decided above
            wal_enabled=False,
        )
        with _report_edge_write_errors():
            shard = edge.EdgeShard.create(str(folder), config)
            shard.update(edge.UpdateOperation.create_field_index("file", edge.PayloadSchemaType.Keyword))
        return cls(shard)

    def put(self, points: Sequence[IndexPoint]) -> None:
        kept = [
            edge.Point(chunk.id, {DENSE_VECTOR: meaning, SPARSE_VECTOR: words}, serialization.dump_chunk(chunk))
            for chunk, meaning, words in points
        ]
        with _report_edge_write_errors():
            self._shard.update(edge.UpdateOperation.upsert_points(kept))
            self._shard.flush()

    async def fuse(self, meaning: list[float], words: Sparse, limit: int) -> list[SearchHit]:
        near = edge.Prefetch(limit, edge.Query.Nearest(meaning, using=DENSE_VECTOR))
        worded = edge.Prefetch(limit, edge.Query.Nearest(words, using=SPARSE_VECTOR))
        fusion = cast(edge.Fusion, edge.Fusion.Dbsf())
        return self._hits(edge.QueryRequest(2 * limit, query=fusion, prefetches=[near] * DENSE_WEIGHT + [worded]))

    async def match(self, words: Sparse, limit: int) -> list[SearchHit]:
        return self._hits(edge.QueryRequest(limit, query=edge.Query.Nearest(words, using=SPARSE_VECTOR)))

    async def fetch(self, ids: list[str]) -> list[tuple[Chunk, Sequence[float]]]:
        with self._reading():
            found = self._shard.retrieve([*ids], with_payload=True, with_vector=[DENSE_VECTOR])
        return [
            (
                serialization.load_chunk(str(each.id), each.payload),
                cast("dict[str, list[float]]", each.vector)[DENSE_VECTOR],
            )
            for each in found
        ]

    async def scan(self, file: str | None = None) -> list[Chunk]:
        return await asyncio.to_thread(self._scanned, file)

    async def close(self) -> None:
        self._closed = True
        # Edge writes a last word on closing, and takes long to complain where the folder for it is gone.
        with temp_copies.recreate_folders(self._gone):
            self._shard.close()

    def _scanned(self, file: str | None) -> list[Chunk]:
        only = None if file is None else edge.Filter(must=[edge.FieldCondition("file", edge.MatchValue(file))])
        chunks: list[Chunk] = []
        start, more = None, True
        while more:
            with self._reading():
                page, start = self._shard.scroll(edge.ScrollRequest(start, _SCROLL_PAGE_SIZE, only, with_payload=True))
            chunks += [serialization.load_chunk(str(each.id), each.payload) for each in page]
            more = start is not None
        return chunks

    def _hits(self, request: edge.QueryRequest) -> list[SearchHit]:
        with self._reading():
            return [SearchHit(str(hit.id), hit.score) for hit in self._shard.query(request)]

    @contextmanager
    def _reading(self) -> Iterator[None]:
        try:
            yield
        except Exception as trouble:  # Edge raises nothing more precise
            if self._closed:
                raise BookIndexError("This index was closed. Open it again to go on reading.") from trouble
            raise CorruptIndexError(
                "The index can no longer be read. Open it again, or index the book again."
            ) from trouble


@contextmanager
def _report_edge_write_errors() -> Iterator[None]:
    try:
        yield
    except Exception as trouble:  # Edge raises nothing more precise
        raise BookIndexError("The index could not be written. Check its folder and disk, then try again.") from trouble


async def optimize_shard(shard: Path) -> None:
    """Optimise in another process: here it would freeze every thread for as long as it takes."""
    child = await asyncio.create_subprocess_exec(sys.executable, "-m", __name__, str(shard))
    try:
        if await child.wait() != 0:
            raise BookIndexError("The new index could not be optimised, so the old one stays. Index the book again.")
    finally:
        if child.returncode is None:
            child.kill()


if __name__ == "__main__":
    target = edge.EdgeShard.load(sys.argv[1])
    target.optimize()
    target.flush()
    target.close()
