"""Qdrant Edge: the index in a folder and in this process."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, cast

import qdrant_edge as edge

from bookbound.book import Chunk, Manifest
from bookbound.errors import DamagedIndex, IndexTrouble
from bookbound.store import files, records
from bookbound.store.bm25 import Sparse
from bookbound.store.generations import Generations
from bookbound.store.hybrid import MEANING_COUNTS, Hit, HybridIndex
from bookbound.store.intake import Intake, Point
from bookbound.store.records import MEANING, WORDS

if TYPE_CHECKING:
    from bookbound.ports import Vectors

OPTIMISE_ABOVE = 20_000
_PAGE = 1_000


class EdgeStore:
    """Generations of an index in a folder; above `optimise_above` chunks one is optimised before it is published."""

    def __init__(self, folder: Path, optimise_above: int = OPTIMISE_ABOVE) -> None:
        self._generations = Generations(folder)
        self._optimise_above = optimise_above

    @asynccontextmanager
    async def draft(self, manifest: Manifest) -> AsyncIterator[EdgeDraft]:
        with self._generations.writing() as generation:
            draft = EdgeDraft(self._generations, generation, manifest, self._optimise_above)
            try:
                yield draft
            finally:
                await draft.close()

    async def open(self) -> HybridIndex:
        generation = self._generations.current()
        while True:
            try:
                return HybridIndex(*await asyncio.to_thread(_opened, self._generations, generation))
            except DamagedIndex:
                # A reader that was slower than several writers finds its generation gone, and a newer one published.
                if generation == (generation := self._generations.current()):
                    raise

    async def generations(self) -> list[Manifest]:
        return [self._generations.manifest(generation) for generation in self._generations.kept()]


class EdgeDraft:
    """A shard that only its writer knows."""

    def __init__(self, generations: Generations, generation: str, manifest: Manifest, optimise_above: int) -> None:
        self._generations = generations
        self._generation = generation
        self._optimise_above = optimise_above
        self._intake = Intake(manifest)
        self._shard = EdgeShard.create(generations.shard(generation), manifest.dimension)

    async def add(self, chunks: Sequence[Chunk], vectors: Vectors) -> None:
        self._shard.put(self._intake.take(chunks, vectors))

    async def publish(self) -> Manifest:
        await self._shard.close()
        if len(self._intake) > self._optimise_above:
            await _optimise(self._generations.shard(self._generation))
        await asyncio.to_thread(self._generations.seal, self._generation, self._intake.manifest())
        shard, manifest = await asyncio.to_thread(_opened, self._generations, self._generation)
        try:
            self._intake.verify(await shard.scan())
        finally:
            await shard.close()
        # Not in another thread: a publish that was cancelled must not go on after its draft is gone.
        self._generations.publish(self._generation)
        return manifest

    async def close(self) -> None:
        await self._shard.close()


class EdgeShard:
    """A folder that Edge reads and writes, without a log: flushing each batch keeps what a log would keep."""

    def __init__(self, shard: edge.EdgeShard, gone: Sequence[Path] = ()) -> None:
        self._shard = shard
        self._gone = gone

    def __len__(self) -> int:
        return self._shard.count(edge.CountRequest())

    @classmethod
    def create(cls, folder: Path, dimension: int) -> EdgeShard:
        config = edge.EdgeConfig(
            vectors={MEANING: edge.EdgeVectorParams(size=dimension, distance=edge.Distance.Cosine)},
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
        query = edge.Query.Nearest(words, using=WORDS)
        return self._hits(edge.QueryRequest(limit, query=query))

    async def fetch(self, ids: list[str]) -> list[tuple[Chunk, Sequence[float]]]:
        found = self._shard.retrieve([*ids], with_payload=True, with_vector=[MEANING])
        return [(_chunk(each), cast("dict[str, list[float]]", each.vector)[MEANING]) for each in found]

    async def scan(self, file: str | None = None) -> list[Chunk]:
        only = None if file is None else edge.Filter(must=[edge.FieldCondition("file", edge.MatchValue(file))])
        chunks: list[Chunk] = []
        start, more = None, True
        while more:
            page, start = self._shard.scroll(edge.ScrollRequest(start, _PAGE, only, with_payload=True))
            chunks += map(_chunk, page)
            more = start is not None
        return chunks

    async def close(self) -> None:
        # Edge writes a last word on closing, and takes long to complain where the folder for it is gone.
        with files.standing(self._gone):
            self._shard.close()

    def _hits(self, request: edge.QueryRequest) -> list[Hit]:
        return [Hit(str(hit.id), hit.score) for hit in self._shard.query(request)]


def _opened(generations: Generations, generation: str) -> tuple[EdgeShard, Manifest]:
    """A generation in a copy for this reader alone: Edge writes where it reads, and knows no reading only.

    Edge holds its files open, so they lose their names once loaded, and no reader leaves any behind, killed or not.
    """
    with generations.copied(generation) as (room, manifest):
        try:
            shard = EdgeShard(edge.EdgeShard.load(str(room)), files.folders(room))
        except Exception as trouble:  # Edge raises nothing more precise
            raise DamagedIndex("The index cannot be opened by this version. Index the book again.") from trouble
    if len(shard) != manifest.chunks:
        raise DamagedIndex(f"The index holds {len(shard)} of its {manifest.chunks} chunks. Index the book again.")
    return shard, manifest


async def _optimise(shard: Path) -> None:
    """Optimise in another process: here it would freeze every thread for as long as it takes."""
    child = await asyncio.create_subprocess_exec(sys.executable, "-m", __name__, str(shard))
    try:
        if await child.wait() != 0:
            raise IndexTrouble("The new index could not be optimised, so the old one stays. Index the book again.")
    finally:
        if child.returncode is None:
            child.kill()


@contextmanager
def _writing() -> Iterator[None]:
    try:
        yield
    except Exception as trouble:  # Edge raises nothing more precise
        raise IndexTrouble("The index could not be written. Check its folder and disk, then try again.") from trouble


def _chunk(found: edge.Record) -> Chunk:
    return records.chunk(str(found.id), found.payload)


if __name__ == "__main__":
    target = edge.EdgeShard.load(sys.argv[1])
    target.optimize()
    target.flush()
    target.close()
