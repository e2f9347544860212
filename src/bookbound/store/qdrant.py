"""Qdrant as a server or a cluster: one collection a generation, and an alias that says which is published."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING
from uuid import UUID

from bookbound.book import Chunk, Manifest
from bookbound.errors import BookboundError, DamagedIndex, NoIndex
from bookbound.store import records
from bookbound.store.generations import KEPT, NOTHING_YET, is_id, new_id
from bookbound.store.hybrid import HybridIndex
from bookbound.store.intake import Intake
from bookbound.store.qdrant_shard import QdrantShard, asking, connect
from bookbound.store.records import MEANING, WORDS

if TYPE_CHECKING:
    from qdrant_client import AsyncQdrantClient

    from bookbound.ports import Vectors

ABANDONED = timedelta(days=1)
_MANIFEST = str(UUID(int=0))


class QdrantStore:
    """Generations of an index on the server at a URL, or behind a client that the caller made and closes."""

    def __init__(self, server: str | AsyncQdrantClient, key: str | None = None, collection: str = "bookbound") -> None:
        self._server = server
        self._key = key
        self._collection = collection

    @asynccontextmanager
    async def draft(self, manifest: Manifest) -> AsyncIterator[QdrantDraft]:
        async with self._shelf() as shelf:
            generation = new_id()
            try:
                with asking():
                    await shelf.begin(generation, manifest.dimension)
                yield QdrantDraft(shelf, generation, manifest)
            finally:
                with suppress(BookboundError), asking():
                    await shelf.sweep(generation)

    async def open(self) -> HybridIndex:
        async with AsyncExitStack() as connection:
            shelf = await connection.enter_async_context(self._shelf())
            with asking():
                if not (generation := await shelf.published()):
                    raise NoIndex(NOTHING_YET)
                manifest = await shelf.manifest(generation)
                held = await shelf.client.count(shelf.name(generation))
            if manifest is None or held.count != manifest.chunks + 1:
                raise DamagedIndex("The collection does not hold what its manifest says. Index the book again.")
            return HybridIndex(QdrantShard(shelf.client, shelf.name(generation), connection.pop_all()), manifest)

    async def generations(self) -> list[Manifest]:
        async with self._shelf() as shelf:
            with asking():
                return await shelf.kept()

    @asynccontextmanager
    async def _shelf(self) -> AsyncIterator[Shelf]:
        if isinstance(self._server, str):
            client = connect(self._server, self._key)
            try:
                yield Shelf(client, self._collection)
            finally:
                await client.close()
        else:
            yield Shelf(self._server, self._collection)


class QdrantDraft:
    """A collection that no alias names yet."""

    def __init__(self, shelf: Shelf, generation: str, manifest: Manifest) -> None:
        self._shelf = shelf
        self._shard = QdrantShard(shelf.client, shelf.name(generation))
        self._intake = Intake(replace(manifest, generation=generation))

    async def add(self, chunks: Sequence[Chunk], vectors: Vectors) -> None:
        await self._shard.put(self._intake.take(chunks, vectors))

    async def publish(self) -> Manifest:
        self._intake.verify(await self._shard.scan())
        manifest = replace(self._intake.manifest(), created=datetime.now(UTC).isoformat(timespec="seconds"))
        with asking():
            await self._shelf.publish(manifest)
        return manifest


class Shelf:
    """The collections of one book on one server: the alias names the published one, older ones are kept a while."""

    def __init__(self, client: AsyncQdrantClient, collection: str) -> None:
        self.client = client
        self._collection = collection

    def name(self, generation: str) -> str:
        return f"{self._collection}-{generation}"

    async def published(self) -> str:
        """The generation that the alias names, or nothing."""
        aliases = (await self.client.get_aliases()).aliases
        named = (alias.collection_name for alias in aliases if alias.alias_name == self._collection)
        return next(named, "").removeprefix(self.name(""))

    async def manifest(self, generation: str) -> Manifest | None:
        """What a generation says of itself, once it is finished."""
        found = await self.client.retrieve(self.name(generation), [_MANIFEST])
        return records.load((found[0].payload or {}).get("manifest", ""))[0] if found else None

    async def kept(self) -> list[Manifest]:
        """The generations that are or were published, newest first."""
        published = await self.published()
        finished = [await self.manifest(each) for each in await self._all() if each <= published]
        return [manifest for manifest in finished if manifest]

    async def begin(self, generation: str, dimension: int) -> None:
        """A collection for a new generation, which can filter by file from its first chunk on."""
        from qdrant_client import models

        await self.client.create_collection(
            self.name(generation),
            vectors_config={MEANING: models.VectorParams(size=dimension, distance=models.Distance.COSINE)},
            sparse_vectors_config={WORDS: models.SparseVectorParams(modifier=models.Modifier.IDF)},
        )
        await self.client.create_payload_index(self.name(generation), "file", models.PayloadSchemaType.KEYWORD)

    async def publish(self, manifest: Manifest) -> None:
        """Lay the manifest beside the chunks, as the one point without vectors, and switch the alias in one step."""
        from qdrant_client import models

        name, alias = self.name(manifest.generation), self._collection
        kept = {"manifest": json.dumps(records.dump(manifest), ensure_ascii=False)}
        await self.client.upsert(name, [models.PointStruct(id=_MANIFEST, vector={}, payload=kept)], wait=True)
        leave = models.DeleteAliasOperation(delete_alias=models.DeleteAlias(alias_name=alias))
        enter = models.CreateAliasOperation(create_alias=models.CreateAlias(collection_name=name, alias_name=alias))
        await self.client.update_collection_aliases([leave, enter] if await self.published() else [enter])

    async def sweep(self, mine: str) -> None:
        """Remove this draft if it was not published, those of writers long dead, and generations past their time."""
        kept = [manifest.generation for manifest in await self.kept()]
        spared = {await self.published(), *kept[:KEPT]}
        long_ago = new_id(age=ABANDONED)
        for generation in await self._all():
            if generation not in spared and (generation in (mine, *kept) or generation < long_ago):
                await self.client.delete_collection(self.name(generation))

    async def _all(self) -> list[str]:
        names = [each.name for each in (await self.client.get_collections()).collections]
        return sorted((rest for name in names if is_id(rest := name.removeprefix(self.name("")))), reverse=True)
