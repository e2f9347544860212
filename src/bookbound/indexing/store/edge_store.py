"""Keeps an index in a folder and searches it in this process with Qdrant Edge."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import qdrant_edge as edge

from bookbound import filesystem
from bookbound.domain.chunk import Chunk
from bookbound.domain.errors import BookIndexError, CorruptIndexError
from bookbound.domain.manifest import Manifest
from bookbound.filesystem import DiskFullError, temp_copies
from bookbound.indexing.store import NO_EARLIER_MESSAGE
from bookbound.indexing.store.checksums import GenerationChecksum
from bookbound.indexing.store.edge_shard import EdgeShard, optimize_shard
from bookbound.indexing.store.generations import FolderGenerations
from bookbound.indexing.store.hybrid_index import HybridIndex, PointBuilder, verify_contents

if TYPE_CHECKING:
    from bookbound.domain.ports import Vectors


OPTIMIZE_ABOVE_CHUNKS = 20_000


class EdgeStore:
    """Generations of an index in a folder; above `optimise_above` chunks one is optimised before it is published."""

    def __init__(self, folder: Path, optimise_above: int = OPTIMIZE_ABOVE_CHUNKS) -> None:
        self._generations = FolderGenerations(folder)
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
                return HybridIndex(*await asyncio.to_thread(_open_generation, self._generations, seal))
            except CorruptIndexError:
                # A reader that was slower than several writers finds its generation gone, and a newer one published.
                if seal == (seal := self._generations.current()):
                    raise

    async def books(self) -> list[str]:
        return await asyncio.to_thread(self._generations.books)

    async def published(self) -> str:
        kept = self._generations.kept()
        return kept[0].generation if kept else ""

    async def generations(self) -> list[Manifest]:
        return await asyncio.to_thread(self._generations.manifests)

    async def roll_back(self) -> Manifest:
        with self._generations.withdrawing() as earlier:
            for seal in earlier:
                try:
                    manifest = await _open_and_verify(self._generations, seal)
                except DiskFullError:  # which says nothing of the generation
                    raise
                except BookIndexError:
                    continue
                self._generations.go_back(seal)
                return manifest
        raise BookIndexError(NO_EARLIER_MESSAGE)


class EdgeDraft:
    """A shard that only its writer knows."""

    def __init__(
        self, generations: FolderGenerations, generation: str, manifest: Manifest, optimise_above: int
    ) -> None:
        self._generations = generations
        self._generation = generation
        self._folder = generations.shard(generation)
        self._optimise_above = optimise_above
        self._intake = PointBuilder(manifest)
        filesystem.check_free_space(self._folder, manifest.chunks * (4 * manifest.dimension + 2048))
        self._shard = EdgeShard.create(self._folder, manifest.dimension)

    async def add(self, chunks: Sequence[Chunk], vectors: Vectors) -> None:
        points = self._intake.take(chunks, vectors)
        filesystem.check_free_space(self._folder, sum(point.size for point in points))
        self._shard.put(points)

    async def publish(self) -> Manifest:
        await self._shard.close()
        if len(self._intake) > self._optimise_above:
            filesystem.check_free_space(self._folder, 2 * filesystem.disk_usage(self._folder))
            await optimize_shard(self._folder)
        seal = await asyncio.to_thread(self._generations.seal, self._generation, self._intake.manifest())
        manifest = await _open_and_verify(self._generations, seal)
        older = await asyncio.to_thread(self._generations.whole)
        # Not in another thread: a publish that was cancelled must not go on after its draft is gone.
        self._generations.publish(seal, older)
        return manifest

    async def close(self) -> None:
        await self._shard.close()


def _open_generation(generations: FolderGenerations, seal: GenerationChecksum) -> tuple[EdgeShard, Manifest]:
    """A generation in a copy for this reader alone: Edge writes where it reads, and knows no reading only.

    Edge holds its files open, so they lose their names once loaded, and no reader leaves any behind, killed or not.
    """
    with generations.copied(seal) as (room, manifest):
        try:
            shard = edge.EdgeShard.load(str(room))
            held = shard.count(edge.CountRequest())
        except Exception as trouble:  # Edge raises nothing more precise
            raise CorruptIndexError("The index cannot be opened by this version. Index the book again.") from trouble
        if held != manifest.chunks:
            shard.close()
            raise CorruptIndexError(f"The index holds {held} of its {manifest.chunks} chunks. Index the book again.")
        return EdgeShard(shard, temp_copies.list_folders(room)), manifest


async def _open_and_verify(generations: FolderGenerations, seal: GenerationChecksum) -> Manifest:
    """What a generation says of itself, once that was found in it."""
    shard, manifest = await asyncio.to_thread(_open_generation, generations, seal)
    try:
        await verify_contents(shard, manifest)
    finally:
        await shard.close()
    return manifest
