"""Keeps an index in a folder and searches it in this process with Qdrant Edge."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

from bookbound import filesystem
from bookbound.domain.chunk import Chunk
from bookbound.domain.errors import BookIndexError
from bookbound.domain.manifest import Manifest
from bookbound.domain.ports import Vectors
from bookbound.filesystem import DiskFullError
from bookbound.indexing.store.edge_shard import EdgeShard, optimize_shard
from bookbound.indexing.store.generations import SHARD_FOLDER, FinishedGeneration, FolderGenerations
from bookbound.indexing.store.hybrid_index import HybridIndex, PointBuilder, verify_contents
from bookbound.indexing.store.index_format import no_earlier_error, report_write_errors

OPTIMIZE_ABOVE_CHUNKS = 20_000
"""Fewer are searched exactly, which is fast: optimizing takes a minute of processor time for 100,000 chunks."""


class EdgeStore:
    """The generations of an index in a folder; large ones are optimized before they are published."""

    def __init__(self, folder: Path, optimize_above: int = OPTIMIZE_ABOVE_CHUNKS) -> None:
        self._generations, self._optimize_above = FolderGenerations(folder), optimize_above

    @asynccontextmanager
    async def writer(self, manifest: Manifest) -> AsyncIterator[EdgeWriter]:
        with self._generations.begin() as folder:
            writer = EdgeWriter(self._generations, folder, manifest, self._optimize_above)
            try:
                yield writer
            finally:
                await writer.close()

    async def open(self) -> HybridIndex:
        generation = self._generations.published()
        while True:
            try:
                return HybridIndex(*await asyncio.to_thread(_open_copy, generation))
            except BookIndexError:  # writers may have replaced it meanwhile
                if generation == (generation := self._generations.published()):
                    raise

    async def books(self) -> list[str]:
        return await asyncio.to_thread(self._generations.books)

    async def published_generation(self) -> str:
        kept = self._generations.list_kept()
        return kept[0].id if kept else ""

    async def generations(self) -> list[Manifest]:
        return await asyncio.to_thread(self._generations.manifests)

    async def roll_back(self, to: str = "") -> Manifest:
        self._generations.published()  # an error if there is no index, before the lock creates a folder
        with self._generations.lock():
            kept = self._generations.list_kept()
            for at, generation in enumerate(kept[1:], 1):
                if to not in ("", generation.id):
                    continue
                try:
                    manifest = await _verify(generation)
                except DiskFullError:  # says nothing about the generation
                    raise
                except BookIndexError:
                    continue
                self._generations.publish(kept[at:])
                return manifest
        raise no_earlier_error(to)


class EdgeWriter:
    """Writes one generation, which no reader sees until it is published."""

    def __init__(self, generations: FolderGenerations, folder: Path, manifest: Manifest, optimize_above: int) -> None:
        self._generations, self._optimize_above = generations, optimize_above
        self._folder, self._shard_folder = folder, folder / SHARD_FOLDER
        self._builder = PointBuilder(manifest)
        self._check_free_space(manifest.chunks * (4 * manifest.dimension + 2048))
        self._shard = EdgeShard.create(self._shard_folder, manifest.dimension)

    async def add(self, chunks: Sequence[Chunk], vectors: Vectors) -> None:
        points = self._builder.add(chunks, vectors)
        self._check_free_space(sum(point.max_bytes for point in points))
        self._shard.put(points)

    async def publish(self) -> Manifest:
        await self._shard.close()
        manifest = self._builder.manifest()
        if manifest.chunks > self._optimize_above:
            self._check_free_space(2 * filesystem.disk_usage(self._shard_folder))
            await optimize_shard(self._shard_folder)
        generation = await asyncio.to_thread(FinishedGeneration.finish, self._folder, manifest)
        manifest = await _verify(generation)
        older = await asyncio.to_thread(self._generations.list_intact)
        # Not in another thread: a cancelled publication must not go on after its folder is removed.
        self._generations.publish([generation, *older])
        return manifest

    async def close(self) -> None:
        await self._shard.close()

    def _check_free_space(self, size: int) -> None:
        needed = size + filesystem.RESERVED_BYTES
        with report_write_errors():
            if filesystem.free_bytes(self._shard_folder) < needed:
                raise DiskFullError(
                    f"The index could not be written: its disk has no room for another {needed / 1e6:.0f} MB. "
                    "Make room there, or choose another folder: --index FOLDER"
                )


def _open_copy(generation: FinishedGeneration) -> tuple[EdgeShard, Manifest]:
    """Opens a generation in a private copy, because Edge writes into the folders that it reads.

    The copy loses its names as soon as it is open, so a killed reader leaves nothing behind.
    """
    with generation.temp_copy() as (folder, manifest):
        return EdgeShard.load(folder, manifest.chunks), manifest


async def _verify(generation: FinishedGeneration) -> Manifest:
    """Returns the manifest of a generation that contains what it says."""
    shard, manifest = await asyncio.to_thread(_open_copy, generation)
    try:
        await verify_contents(shard, manifest)
    finally:
        await shard.close()
    return manifest
