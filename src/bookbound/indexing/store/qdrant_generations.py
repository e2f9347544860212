"""Creates, publishes, rolls back and removes the generations of one book on a Qdrant server."""

from __future__ import annotations

import json
from contextlib import nullcontext, suppress
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from qdrant_client import AsyncQdrantClient, models

from bookbound.domain import errors
from bookbound.domain.manifest import Manifest
from bookbound.indexing.store import index_format
from bookbound.indexing.store.hybrid_index import verify_contents
from bookbound.indexing.store.qdrant_aliases import QdrantAliases
from bookbound.indexing.store.qdrant_client import QdrantConnection
from bookbound.indexing.store.qdrant_shard import HEARTBEAT_POINT_ID, MANIFEST_POINT_ID, QdrantShard, only_chunks

WRITER_TIMEOUT = timedelta(minutes=5)
"""A writer that sends no heartbeat for this long counts as dead."""


@dataclass(frozen=True, slots=True)
class ClusterLayout:
    """The shards of a collection, the replicas of each, and how many replicas must confirm a write."""

    shards: int = 1
    replicas: int = 1
    write_consistency: int = 1


class QdrantGenerations:
    """The generations of one book, each in a collection; one that was never published is a draft.

    Two special points in each collection have the time of its writer's last heartbeat and, when it is finished, its
    manifest: a heartbeat that a slow node stores late must not replace the manifest.
    """

    def __init__(self, connection: QdrantConnection, book: str) -> None:
        self.connection = connection
        self.aliases = QdrantAliases(connection, book)

    def shard(self, generation: str) -> QdrantShard:
        return QdrantShard(self.connection, self.aliases.collection(generation))

    async def manifests(self) -> list[Manifest]:
        """Returns the manifests of the kept generations, without older ones that cannot be read."""
        found: list[Manifest] = []
        for generation in await self.aliases.list_kept():
            with suppress(errors.BookIndexError) if found else nullcontext():
                found.append(await self._manifest(generation))
        return found

    async def published_manifest(self) -> Manifest:
        """Returns the manifest of the published generation, whose collection is complete."""
        generation = await self.aliases.published_generation()
        while generation:
            try:
                return await self.check_complete(generation)
            except errors.BookIndexError:  # writers may have replaced it meanwhile
                if generation == (generation := await self.aliases.published_generation()):
                    raise
        raise errors.IndexNotFoundError(index_format.NO_INDEX_MESSAGE)

    async def check_complete(self, generation: str) -> Manifest:
        """Returns the manifest of a generation that has as many chunks as its manifest says."""
        manifest = await self._manifest(generation)
        collection = self.aliases.collection(generation)
        found = await self.connection.call(lambda client: client.count(collection, only_chunks(), exact=True))
        if found.count != manifest.chunks or manifest.generation != generation:
            raise errors.CorruptIndexError(
                "The collection does not contain what its manifest says. Index the book again."
            )
        return manifest

    async def begin(self, generation: str, dimension: int, layout: ClusterLayout) -> None:
        """Creates the collection of a new generation, unless another process is writing one.

        Each writer looks for others after its own collection is visible, so of two writers at least one sees the other.
        """
        await self.aliases.check_name()
        name = self.aliases.collection(generation)

        async def create(client: AsyncQdrantClient) -> None:
            if not await client.collection_exists(name):  # it exists if the reply to the first attempt was lost
                await client.create_collection(
                    name,
                    # Memory holds one byte per number; the candidates are compared again with the vectors on disk.
                    vectors_config={
                        index_format.DENSE_VECTOR: models.VectorParams(
                            size=dimension, distance=models.Distance.COSINE, on_disk=True
                        )
                    },
                    quantization_config=models.ScalarQuantization(
                        scalar=models.ScalarQuantizationConfig(type=models.ScalarType.INT8, always_ram=True)
                    ),
                    sparse_vectors_config={
                        index_format.SPARSE_VECTOR: models.SparseVectorParams(modifier=models.Modifier.IDF)
                    },
                    shard_number=layout.shards,
                    replication_factor=layout.replicas,
                    write_consistency_factor=layout.write_consistency,
                )

        await self.connection.call(create)
        await self._check_no_other_writer(generation)
        await self.aliases.mark_draft(generation)
        keyword = models.PayloadSchemaType.KEYWORD
        await self.connection.call(lambda client: client.create_payload_index(name, "file", keyword))

    async def send_heartbeat(self, generation: str) -> None:
        """Records that a draft is being written."""
        await self._put(generation, HEARTBEAT_POINT_ID, {"written": index_format.new_generation_id()})

    async def put_manifest(self, manifest: Manifest) -> None:
        content = json.dumps(index_format.dump_manifest(manifest), ensure_ascii=False)
        await self._put(manifest.generation, MANIFEST_POINT_ID, {"manifest": content})

    async def roll_back(self, to: str = "") -> Manifest:
        """Publishes, in one step, the newest intact generation before the published one, or the one named `to`."""
        published, kept = await self.aliases.published_generation(), await self.aliases.list_kept()
        if not kept:
            raise errors.IndexNotFoundError(index_format.NO_INDEX_MESSAGE)
        await self._check_no_other_writer()
        for at, generation in enumerate(kept):
            if generation == published or to not in ("", generation):
                continue
            try:
                manifest = await self.check_complete(generation)
                await verify_contents(self.shard(generation), manifest)
            except errors.BookIndexError:
                continue
            await self.aliases.roll_back(generation, newer=kept[:at])
            with suppress(errors.BookboundError):  # otherwise they would look like drafts that are being written
                for each in kept[:at]:
                    await self._put(each, HEARTBEAT_POINT_ID, {"written": ""})
            return manifest
        raise index_format.no_earlier_error(to)

    async def remove_old(self, own_draft: str) -> None:
        """Removes this draft if it is not published, the drafts of dead writers, and old generations.

        A generation is old if enough newer ones are complete, so that an incomplete one takes no other's place.
        """
        kept, complete, old = await self.aliases.list_kept(), 0, list[str]()
        for generation in kept:
            if complete >= index_format.KEPT_GENERATIONS:
                old.append(generation)
            else:
                with suppress(errors.BookIndexError):
                    await self.check_complete(generation)
                    complete += 1
        for generation in await self.aliases.generations():
            is_dead = generation not in kept and (generation == own_draft or not await self._is_alive(generation))
            if generation in old or (is_dead and await self.aliases.cancel_draft(generation)):
                await self._delete(generation)

    async def _check_no_other_writer(self, own_draft: str = "") -> None:
        kept = await self.aliases.list_kept()
        for generation in await self.aliases.generations():
            if generation not in (own_draft, *kept) and await self._is_alive(generation):
                raise errors.IndexLockedError(
                    "Another process is writing this index. Wait until it has finished and try again; "
                    f"if it was killed, wait {WRITER_TIMEOUT.seconds // 60} minutes."
                )

    async def _is_alive(self, draft: str) -> bool:
        """Whether a draft's writer sent a heartbeat lately; before the first one, the time in the draft's id counts."""
        try:
            heartbeat = await self._get(draft, HEARTBEAT_POINT_ID)
        except errors.IndexNotFoundError:
            return False
        return str(heartbeat.get("written", draft)) > index_format.new_generation_id(age=WRITER_TIMEOUT)

    async def _manifest(self, generation: str) -> Manifest:
        found = await self._get(generation, MANIFEST_POINT_ID)
        return index_format.load_manifest(str(found.get("manifest", "")))[0]

    async def _get(self, generation: str, point: str) -> dict[str, Any]:
        collection = self.aliases.collection(generation)
        found = await self.connection.call(lambda client: client.retrieve(collection, [point]))
        return found[0].payload or {} if found else {}

    async def _put(self, generation: str, point: str, payload: dict[str, str]) -> None:
        collection = self.aliases.collection(generation)
        points = [models.PointStruct(id=point, vector={}, payload=payload)]
        await self.connection.call(lambda client: client.upsert(collection, points, wait=True))

    async def _delete(self, generation: str) -> None:
        collection = self.aliases.collection(generation)
        await self.connection.call(lambda client: client.delete_collection(collection))
