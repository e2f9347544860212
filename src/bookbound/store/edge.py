"""Qdrant Edge: the index in a folder and in this process."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, cast

import qdrant_edge as edge

from bookbound.book import Chunk
from bookbound.errors import DamagedIndex, IndexTrouble
from bookbound.manifest import Manifest
from bookbound.store import files, records
from bookbound.store.bm25 import Sparse
from bookbound.store.edge_optimise import optimise
from bookbound.store.generations import Generations, Seal
from bookbound.store.hybrid import MEANING_COUNTS, Hit, HybridIndex, probe
from bookbound.store.intake import Intake, Point
from bookbound.store.records import MEANING, WORDS

if TYPE_CHECKING:
    from bookbound.ports import Vectors

OPTIMISE_ABOVE = 20_000
_PAGE = 100  # Edge keeps every other thread waiting while it fetches one


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
        seal = self._generations.current()
        while True:
            try:
                return HybridIndex(*await asyncio.to_thread(_opened, self._generations, seal))
            except DamagedIndex:
                # A reader that was slower than several writers finds its generation gone, and a newer one published.
                if seal == (seal := self._generations.current()):
                    raise

    async def books(self) -> list[str]:
        return await asyncio.to_thread(self._generations.books)

    async def published(self) -> str:
        kept = self._generations.kept()
        return kept[0].generation if kept else ""

    async def generations(self) -> list[Manifest]:
        return await asyncio.to_thread(lambda: [*map(self._generations.manifest, self._generations.kept())])

    async def roll_back(self) -> Manifest:
        return self._generations.manifest(await asyncio.to_thread(self._generations.roll_back))


class EdgeDraft:
    """A shard that only its writer knows."""

    def __init__(self, generations: Generations, generation: str, manifest: Manifest, optimise_above: int) -> None:
        self._generations = generations
        self._generation = generation
        self._folder = generations.shard(generation)
        self._optimise_above = optimise_above
        self._intake = Intake(manifest)
        files.ensure_room(self._folder, manifest.chunks * (4 * manifest.dimension + 2048))
        self._shard = EdgeShard.create(self._folder, manifest.dimension)

    async def add(self, chunks: Sequence[Chunk], vectors: Vectors) -> None:
        points = self._intake.take(chunks, vectors)
        files.ensure_room(self._folder, sum(point.size for point in points))
        self._shard.put(points)

    async def publish(self) -> Manifest:
        await self._shard.close()
        if len(self._intake) > self._optimise_above:
            files.ensure_room(self._folder, 2 * files.taken(self._folder))
            await optimise(self._folder)
        seal = await asyncio.to_thread(self._generations.seal, self._generation, self._intake.manifest())
        shard, manifest = await asyncio.to_thread(_opened, self._generations, seal)
        try:
            self._intake.verify(await shard.scan())
            await probe(shard, self._intake.sample)
        finally:
            await shard.close()
        # Not in another thread: a publish that was cancelled must not go on after its draft is gone.
        self._generations.publish(seal)
        return manifest

    async def close(self) -> None:
        await self._shard.close()


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


def _opened(generations: Generations, seal: Seal) -> tuple[EdgeShard, Manifest]:
    """A generation in a copy for this reader alone: Edge writes where it reads, and knows no reading only.

    Edge holds its files open, so they lose their names once loaded, and no reader leaves any behind, killed or not.
    """
    with generations.copied(seal) as (room, manifest):
        try:
            shard = edge.EdgeShard.load(str(room))
            held = shard.count(edge.CountRequest())
        except Exception as trouble:  # Edge raises nothing more precise
            raise DamagedIndex("The index cannot be opened by this version. Index the book again.") from trouble
        if held != manifest.chunks:
            shard.close()
            raise DamagedIndex(f"The index holds {held} of its {manifest.chunks} chunks. Index the book again.")
        return EdgeShard(shard, files.folders(room)), manifest


@contextmanager
def _writing() -> Iterator[None]:
    try:
        yield
    except Exception as trouble:  # Edge raises nothing more precise
        raise IndexTrouble("The index could not be written. Check its folder and disk, then try again.") from trouble
