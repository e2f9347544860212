"""Reads, writes and optimizes one Qdrant Edge shard: the chunks of one generation with their vectors."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import cast

import qdrant_edge as edge
from qdrant_edge import SparseVector as SparseVector  # of all stores: Edge encodes the words for Qdrant, too

from bookbound.domain.chunk import Chunk
from bookbound.domain.errors import BookIndexError, CorruptIndexError
from bookbound.domain.question import Deadline
from bookbound.filesystem import temp_copies
from bookbound.indexing.store import index_format
from bookbound.indexing.store.index_format import DENSE_VECTOR, DENSE_WEIGHT, SPARSE_VECTOR, IndexPoint, SearchHit
from bookbound.languages import LANGUAGE

_SCROLL_PAGE_SIZE = 100  # Edge blocks all other threads while it fetches a page


def make_bm25_encoder(average_words: float) -> edge.Bm25:
    """Returns the encoder of all stores: it weighs words by frequency in a text, and the engines by rarity."""
    return edge.Bm25(edge.Bm25Config(avg_len=max(1.0, average_words), language=LANGUAGE.bm25))


class EdgeShard:
    """A folder that Edge reads and writes without a log, since each batch is flushed."""

    def __init__(self, shard: edge.EdgeShard, removed_folders: Sequence[Path] = ()) -> None:
        self._shard, self._removed_folders, self._closed = shard, removed_folders, False

    @classmethod
    def create(cls, folder: Path, dimension: int) -> EdgeShard:
        config = edge.EdgeConfig(  # cold, because loading would fill the holes in the vector files: 33 MB for any book
            vectors={DENSE_VECTOR: edge.EdgeVectorParams(dimension, edge.Distance.Cosine, memory=edge.Memory.Cold)},
            sparse_vectors={SPARSE_VECTOR: edge.EdgeSparseVectorParams(modifier=edge.Modifier.Idf)},
            optimizers=edge.EdgeOptimizersConfig(indexing_threshold=1),  # the store decides whether to optimize
            wal_enabled=False,
        )
        with _report_write_errors():
            shard = edge.EdgeShard.create(str(folder), config)
            shard.update(edge.UpdateOperation.create_field_index("file", edge.PayloadSchemaType.Keyword))
        return cls(shard)

    @classmethod
    def load(cls, folder: Path, count: int) -> EdgeShard:
        """Opens a folder of `count` chunks; the folder may be removed afterwards, because Edge keeps its files open."""
        try:
            shard = edge.EdgeShard.load(str(folder))
            found = shard.count(edge.CountRequest())
        except Exception as error:  # Edge raises nothing more precise
            raise CorruptIndexError("This version cannot open the index. Index the book again.") from error
        if found != count:
            shard.close()
            raise CorruptIndexError(f"The index has {found} of its {count} chunks. Index the book again.")
        return cls(shard, [folder, *sorted(path for path in folder.rglob("*") if path.is_dir())])

    def within(self, deadline: Deadline) -> EdgeShard:
        return self

    def put(self, points: Sequence[IndexPoint]) -> None:
        stored = [
            edge.Point(chunk.id, {DENSE_VECTOR: dense, SPARSE_VECTOR: sparse}, index_format.dump_chunk(chunk))
            for chunk, dense, sparse in points
        ]
        with _report_write_errors():
            self._shard.update(edge.UpdateOperation.upsert_points(stored))
            self._shard.flush()

    async def fuse(self, dense: list[float], sparse: SparseVector, limit: int) -> list[SearchHit]:
        by_meaning = edge.Prefetch(limit, edge.Query.Nearest(dense, using=DENSE_VECTOR))
        by_words = edge.Prefetch(limit, edge.Query.Nearest(sparse, using=SPARSE_VECTOR))
        fusion = cast(edge.Fusion, edge.Fusion.Dbsf())
        prefetches = [by_meaning] * DENSE_WEIGHT + [by_words]
        return self._query(edge.QueryRequest(2 * limit, query=fusion, prefetches=prefetches))

    async def match(self, sparse: SparseVector, limit: int) -> list[SearchHit]:
        return self._query(edge.QueryRequest(limit, query=edge.Query.Nearest(sparse, using=SPARSE_VECTOR)))

    async def fetch(self, ids: list[str]) -> list[tuple[Chunk, Sequence[float]]]:
        with self._report_read_errors():
            points = self._shard.retrieve([*ids], with_payload=True, with_vector=[DENSE_VECTOR])
        vectors = (cast("dict[str, list[float]]", point.vector)[DENSE_VECTOR] for point in points)
        return list(zip(map(_load_chunk, points), vectors, strict=True))

    async def scan(self, file: str | None = None) -> AsyncIterator[list[Chunk]]:
        only = None if file is None else edge.Filter(must=[edge.FieldCondition("file", edge.MatchValue(file))])
        start, more = None, True
        while more:
            request = edge.ScrollRequest(start, _SCROLL_PAGE_SIZE, only, with_payload=True)
            page, start = await asyncio.to_thread(self._scroll, request)
            yield page
            more = start is not None

    async def close(self) -> None:
        self._closed = True
        # Edge writes when it closes, and retries for long if the folder is missing.
        with temp_copies.recreate_folders(self._removed_folders):
            self._shard.close()

    def _scroll(self, request: edge.ScrollRequest) -> tuple[list[Chunk], edge.PointId | None]:
        with self._report_read_errors():
            page, start = self._shard.scroll(request)
        return [*map(_load_chunk, page)], start

    def _query(self, request: edge.QueryRequest) -> list[SearchHit]:
        with self._report_read_errors():
            return [SearchHit(str(hit.id), hit.score) for hit in self._shard.query(request)]

    @contextmanager
    def _report_read_errors(self) -> Iterator[None]:
        try:
            yield
        except Exception as error:  # Edge raises nothing more precise
            if self._closed:
                raise BookIndexError("This index was closed. Open it again to continue reading.") from error
            message = "The index can no longer be read. Open it again, or index the book again."
            raise CorruptIndexError(message) from error


def _load_chunk(point: edge.Record) -> Chunk:
    return index_format.load_chunk(str(point.id), point.payload)


@contextmanager
def _report_write_errors() -> Iterator[None]:
    try:
        yield
    except Exception as error:  # Edge raises nothing more precise
        raise BookIndexError("The index could not be written. Check its folder and disk, then try again.") from error


async def optimize_shard(shard: Path) -> None:
    """Optimizes in another process, because Edge would block all threads of this one meanwhile."""
    child = await asyncio.create_subprocess_exec(sys.executable, "-m", __name__, str(shard))
    try:
        if await child.wait() != 0:
            raise BookIndexError(
                "The new index could not be optimized, so the old one stays published. Index the book again."
            )
    finally:
        if child.returncode is None:
            child.kill()


if __name__ == "__main__":
    target = edge.EdgeShard.load(sys.argv[1])
    target.optimize()
    target.flush()
    target.close()
