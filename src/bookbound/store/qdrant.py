"""Qdrant as a server or a cluster: one collection a generation, and an alias that says which is published."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, nullcontext, suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING
from uuid import UUID

from bookbound.book import Chunk, Manifest
from bookbound.errors import BookboundError, DamagedIndex, IndexTrouble, NoIndex
from bookbound.store import records
from bookbound.store.hybrid import HybridIndex
from bookbound.store.intake import Intake
from bookbound.store.naming import KEPT, NOTHING_YET, is_id, new_id
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
                return await shelf.manifests()

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
    """The collections of one book on one server, and their aliases.

    One alias names the published collection, and stands for the book. Another stays with each collection that ever was
    published, so that a finished one whose writer was killed is not taken for it.
    """

    def __init__(self, client: AsyncQdrantClient, collection: str) -> None:
        self.client = client
        self._collection = collection

    def name(self, generation: str) -> str:
        return f"{self._collection}-{generation}"

    async def published(self) -> str:
        """The generation that readers open, or nothing."""
        return (await self._aliases()).get(self._collection, "")

    async def manifest(self, generation: str) -> Manifest | None:
        """What a generation says of itself, once it is finished."""
        found = await self.client.retrieve(self.name(generation), [_MANIFEST])
        return records.load((found[0].payload or {}).get("manifest", ""))[0] if found else None

    async def kept(self) -> list[str]:
        """The generations that are or were published, the published one first, then newest first."""
        aliases = await self._aliases()
        published = aliases.get(self._collection)
        marked = {generation for alias, generation in aliases.items() if alias == self._mark(generation)}
        older = sorted(marked - {published}, reverse=True)
        return [published, *older] if published else older

    async def manifests(self) -> list[Manifest]:
        """What the kept generations say of themselves; only older ones may be of a format that is no longer read."""
        found: list[Manifest] = []
        for generation in await self.kept():
            with suppress(IndexTrouble) if found else nullcontext():
                manifest = await self.manifest(generation)
                found += [manifest] if manifest else []
        return found

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

        name = self.name(manifest.generation)
        kept = {"manifest": json.dumps(records.dump(manifest), ensure_ascii=False)}
        await self.client.upsert(name, [models.PointStruct(id=_MANIFEST, vector={}, payload=kept)], wait=True)
        leave = models.DeleteAliasOperation(delete_alias=models.DeleteAlias(alias_name=self._collection))
        enter = [
            models.CreateAliasOperation(create_alias=models.CreateAlias(collection_name=name, alias_name=alias))
            for alias in (self._collection, self._mark(manifest.generation))
        ]
        await self.client.update_collection_aliases([leave, *enter] if await self.published() else enter)

    async def sweep(self, mine: str) -> None:
        """Remove this draft if it was not published, those of writers long dead, and generations past their time."""
        kept = await self.kept()
        long_ago = new_id(age=ABANDONED)
        for generation in await self._all():
            if generation not in kept[:KEPT] and (generation in (mine, *kept) or generation < long_ago):
                await self.client.delete_collection(self.name(generation))

    def _mark(self, generation: str) -> str:
        """The alias that tells a generation which was published."""
        return f"{self.name(generation)}-published"

    async def _aliases(self) -> dict[str, str]:
        """Each alias of this book's generations, with the generation it stands for."""
        aliases = (await self.client.get_aliases()).aliases
        named = {alias.alias_name: self._held_by(alias.collection_name) for alias in aliases}
        return {alias: generation for alias, generation in named.items() if generation}

    async def _all(self) -> list[str]:
        collections = (await self.client.get_collections()).collections
        return [generation for each in collections if (generation := self._held_by(each.name))]

    def _held_by(self, collection: str) -> str:
        """The generation in a collection of this book, or nothing."""
        generation = collection.removeprefix(self.name(""))
        return generation if is_id(generation) and collection == self.name(generation) else ""
