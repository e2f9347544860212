"""Keeps an index on a Qdrant server or cluster: one collection per generation."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import replace

from qdrant_client import AsyncQdrantClient

from bookbound.domain.chunk import Chunk
from bookbound.domain.errors import BookboundError
from bookbound.domain.manifest import Manifest, utc_now
from bookbound.domain.ports import Vectors
from bookbound.indexing.store.hybrid_index import HybridIndex, PointBuilder, verify_contents
from bookbound.indexing.store.index_format import new_generation_id
from bookbound.indexing.store.qdrant_client import NodeChoice, QdrantConnection, QdrantNodes
from bookbound.indexing.store.qdrant_generations import ClusterLayout, QdrantGenerations
from bookbound.indexing.store.qdrant_shard import QdrantShard

WRITE_TIMEOUT_SECONDS = 60.0
"""A writer's requests may take at least this long, because no reader waits for them."""


class QdrantStore:
    """The generations of an index on a Qdrant server, given by its URL or by a client that the caller closes.

    The URLs of several nodes of a cluster are separated by commas. A new collection has `shards` shards with
    `replicas` copies each; `write_consistency` copies must confirm a write.
    """

    def __init__(
        self,
        server: str | AsyncQdrantClient,
        key: str | None = None,
        collection: str = "bookbound",
        *,
        shards: int = 1,
        replicas: int = 1,
        write_consistency: int = 1,
        timeout: float = 5.0,
    ) -> None:
        self._server, self._key, self._collection = server, key, collection
        self._node = NodeChoice()  # shared by all connections, so that each begins with a node that worked
        self._layout = ClusterLayout(shards, replicas, write_consistency)
        self._timeout, self._write_timeout = timeout, max(timeout, WRITE_TIMEOUT_SECONDS)

    @asynccontextmanager
    async def writer(self, manifest: Manifest) -> AsyncIterator[QdrantWriter]:
        async with self._connect(self._write_timeout) as generations:
            generation = new_generation_id()
            try:
                await generations.begin(generation, manifest.dimension, self._layout)
                yield QdrantWriter(generations, replace(manifest, generation=generation))
            finally:
                with suppress(BookboundError):
                    await generations.remove_old(generation)

    async def open(self) -> HybridIndex:
        async with AsyncExitStack() as resources:
            generations = await resources.enter_async_context(self._connect(self._timeout))
            manifest = await generations.published_manifest()
            name = generations.aliases.collection(manifest.generation)
            return HybridIndex(QdrantShard(generations.connection, name, resources.pop_all()), manifest)

    async def books(self) -> list[str]:
        async with self._connect(self._timeout) as generations:
            return await generations.aliases.books()

    async def published_generation(self) -> str:
        async with self._connect(self._timeout) as generations:
            return await generations.aliases.published_generation()

    async def generations(self) -> list[Manifest]:
        async with self._connect(self._timeout) as generations:
            return await generations.manifests()

    async def roll_back(self, to: str = "") -> Manifest:
        async with self._connect(self._write_timeout) as generations:
            return await generations.roll_back(to)

    @asynccontextmanager
    async def _connect(self, seconds: float) -> AsyncIterator[QdrantGenerations]:
        async with AsyncExitStack() as resources:
            nodes: QdrantNodes | list[AsyncQdrantClient]
            if isinstance(self._server, str):
                nodes = QdrantNodes(self._server, self._key, seconds)
                resources.push_async_callback(nodes.close)
            else:
                nodes = [self._server]
            yield QdrantGenerations(QdrantConnection(nodes, seconds, self._node), self._collection)


class QdrantWriter:
    """Writes one generation, whose collection has no alias until it is published."""

    def __init__(self, generations: QdrantGenerations, manifest: Manifest) -> None:
        self._generations = generations
        self._generation = manifest.generation
        self._shard = generations.shard(manifest.generation)
        self._builder = PointBuilder(manifest)

    async def add(self, chunks: Sequence[Chunk], vectors: Vectors) -> None:
        if points := self._builder.add(chunks, vectors):
            await self._generations.send_heartbeat(self._generation)
            await self._shard.put(points)

    async def publish(self) -> Manifest:
        await self._generations.send_heartbeat(self._generation)
        manifest = replace(self._builder.manifest(), created=utc_now())
        await verify_contents(self._shard, manifest)
        await self._generations.put_manifest(manifest)
        await self._generations.check_complete(self._generation)
        await self._generations.aliases.publish(self._generation)
        return manifest
