"""Keeps an index on a Qdrant server or cluster: one collection per generation."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from bookbound.domain.chunk import Chunk
from bookbound.domain.errors import BookboundError
from bookbound.domain.manifest import Manifest
from bookbound.indexing.store import new_generation_id
from bookbound.indexing.store.hybrid_index import HybridIndex, PointBuilder, verify_contents
from bookbound.indexing.store.qdrant_client import QdrantConnection, connect_client
from bookbound.indexing.store.qdrant_generations import ClusterLayout, QdrantGenerations
from bookbound.indexing.store.qdrant_shard import QdrantShard

if TYPE_CHECKING:
    from qdrant_client import AsyncQdrantClient

    from bookbound.domain.ports import Vectors


WRITE_TIMEOUT_SECONDS = 30.0
"""The seconds that each step of a writer may take at least: nobody waits for it with a question."""


class QdrantStore:
    """Generations of an index on the server at a URL, or behind a client that the caller made and closes.

    A new collection has `shards` shards with `replicas` copies each, of which `confirmed` must have taken what is
    written. What is read takes at most `timeout` seconds, and never more than the question has left.
    """

    def __init__(
        self,
        server: str | AsyncQdrantClient,
        key: str | None = None,
        collection: str = "bookbound",
        *,
        shards: int = 1,
        replicas: int = 1,
        confirmed: int = 1,
        timeout: float = 5.0,
    ) -> None:
        self._server = server
        self._key = key
        self._collection = collection
        self._spread = ClusterLayout(shards, replicas, confirmed)
        self._timeout = timeout

    @asynccontextmanager
    async def draft(self, manifest: Manifest) -> AsyncIterator[QdrantDraft]:
        async with self._shelf(max(self._timeout, WRITE_TIMEOUT_SECONDS)) as shelf:
            generation = new_generation_id()
            try:
                await shelf.begin(generation, manifest.dimension, self._spread)
                yield QdrantDraft(shelf, replace(manifest, generation=generation))
            finally:
                with suppress(BookboundError):
                    await shelf.sweep(generation)

    async def open(self) -> HybridIndex:
        async with AsyncExitStack() as connection:
            shelf = await connection.enter_async_context(self._shelf(self._timeout))
            manifest = await shelf.current()
            name = shelf.collection(manifest.generation)
            return HybridIndex(QdrantShard(shelf.line, name, connection.pop_all()), manifest)

    async def books(self) -> list[str]:
        async with self._shelf(self._timeout) as shelf:
            return await shelf.books()

    async def published(self) -> str:
        async with self._shelf(self._timeout) as shelf:
            return await shelf.published()

    async def generations(self) -> list[Manifest]:
        async with self._shelf(self._timeout) as shelf:
            return await shelf.manifests()

    async def roll_back(self) -> Manifest:
        async with self._shelf(max(self._timeout, WRITE_TIMEOUT_SECONDS)) as shelf:
            return await shelf.roll_back()

    @asynccontextmanager
    async def _shelf(self, seconds: float) -> AsyncIterator[QdrantGenerations]:
        if isinstance(self._server, str):
            client = connect_client(self._server, self._key, seconds)
            try:
                yield QdrantGenerations(QdrantConnection(client, seconds), self._collection)
            finally:
                await client.close()
        else:
            yield QdrantGenerations(QdrantConnection(self._server, seconds), self._collection)


class QdrantDraft:
    """A collection that no alias names yet."""

    def __init__(self, shelf: QdrantGenerations, manifest: Manifest) -> None:
        self._shelf = shelf
        self._generation = manifest.generation
        self._shard = QdrantShard(shelf.line, shelf.collection(manifest.generation))
        self._intake = PointBuilder(manifest)

    async def add(self, chunks: Sequence[Chunk], vectors: Vectors) -> None:
        if points := self._intake.take(chunks, vectors):
            await self._shelf.note(self._generation)
            await self._shard.put(points)

    async def publish(self) -> Manifest:
        await self._shelf.note(self._generation)
        manifest = replace(self._intake.manifest(), created=datetime.now(UTC).isoformat(timespec="seconds"))
        await verify_contents(self._shard, manifest)
        await self._shelf.note(self._generation, manifest)
        await self._shelf.whole(self._generation)
        await self._shelf.publish(self._generation)
        return manifest
