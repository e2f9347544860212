"""Creates, publishes, rolls back and removes the generations of one book on a Qdrant server."""

from __future__ import annotations

import json
from contextlib import nullcontext, suppress
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from bookbound.domain.errors import (
    BookboundError,
    BookIndexError,
    CorruptIndexError,
    IndexLockedError,
    IndexNotFoundError,
)
from bookbound.domain.manifest import Manifest
from bookbound.indexing.store import (
    KEPT_GENERATIONS,
    NO_EARLIER_MESSAGE,
    NO_INDEX_MESSAGE,
    new_generation_id,
    serialization,
)
from bookbound.indexing.store.hybrid_index import verify_contents
from bookbound.indexing.store.qdrant_client import QdrantAliases, QdrantConnection
from bookbound.indexing.store.qdrant_shard import MANIFEST_POINT_ID, QdrantShard
from bookbound.indexing.store.serialization import DENSE_VECTOR, SPARSE_VECTOR

if TYPE_CHECKING:
    from qdrant_client import AsyncQdrantClient


WRITER_TIMEOUT = timedelta(minutes=5)
"""How long nothing may be heard of a writer before it counts as dead."""
BUSY_MESSAGE = (
    "Another process is writing this index. Wait until it has finished and try again; "
    f"if it was killed, in {WRITER_TIMEOUT.seconds // 60} minutes."
)


@dataclass(frozen=True, slots=True)
class ClusterLayout:
    """How a collection lies on a cluster: its shards, the copies of each, and how many must confirm what is written."""

    shards: int = 1
    replicas: int = 1
    confirmed: int = 1


class QdrantGenerations:
    """Each generation is a collection with a note in it; one that was never published is a draft.

    The note says when its writer was last heard of and, once it is finished, what it holds.
    """

    def __init__(self, line: QdrantConnection, book: str) -> None:
        self.line = line
        self._names = QdrantAliases(line, book)

    def collection(self, generation: str) -> str:
        return self._names.collection(generation)

    async def books(self) -> list[str]:
        """The names of the books that are published beside this one."""
        return await self._names.books()

    async def published(self) -> str:
        """The generation that readers open, or nothing."""
        return await self._names.published()

    async def manifests(self) -> list[Manifest]:
        """What the kept generations say of themselves; only older ones may be of a format that is no longer read."""
        found: list[Manifest] = []
        for generation in await self._names.kept():
            with suppress(BookIndexError) if found else nullcontext():
                found.append(await self._manifest(generation))
        return found

    async def current(self) -> Manifest:
        """What the published generation says of itself."""
        generation = await self._published()
        while True:
            try:
                return await self.whole(generation)
            except BookIndexError:
                # A reader that was slower than several writers finds its generation gone, and a newer one published.
                if generation == (generation := await self._published()):
                    raise

    async def whole(self, generation: str) -> Manifest:
        """What a generation says of itself, once it is sure that it holds that."""
        manifest = await self._manifest(generation)
        held = await self.line.ask(lambda client: client.count(self.collection(generation), exact=True))
        if held.count != manifest.chunks + 1 or manifest.generation != generation:
            raise CorruptIndexError("The collection does not hold what its manifest says. Index the book again.")
        return manifest

    async def begin(self, generation: str, dimension: int, spread: ClusterLayout) -> None:
        """A collection for a new generation, unless somebody else is writing one.

        Each writer looks for others after its own collection can be seen, so of two at least one finds the other.
        """
        from qdrant_client import models

        await self._names.check_free()
        name = self.collection(generation)

        async def create(client: AsyncQdrantClient) -> None:
            if not await client.collection_exists(name):  # it does where the answer to the first try was lost
                await client.create_collection(
                    name,
                    vectors_config={DENSE_VECTOR: models.VectorParams(size=dimension, distance=models.Distance.COSINE)},
                    sparse_vectors_config={SPARSE_VECTOR: models.SparseVectorParams(modifier=models.Modifier.IDF)},
                    shard_number=spread.shards,
                    replication_factor=spread.replicas,
                    write_consistency_factor=spread.confirmed,
                )

        await self.line.ask(create)
        await self._check_alone(generation)
        await self.line.ask(lambda client: client.create_payload_index(name, "file", models.PayloadSchemaType.KEYWORD))

    async def note(self, generation: str, manifest: Manifest | None = None) -> None:
        """Say that a draft is being written, and what it holds once it is finished."""
        note = {"written": new_generation_id()}
        if manifest:
            note["manifest"] = json.dumps(serialization.dump_manifest(manifest), ensure_ascii=False)
        await self._put_note(generation, note)

    async def publish(self, generation: str) -> None:
        """Make a finished draft, in one step, the generation that readers open."""
        await self._names.publish(generation)

    async def roll_back(self) -> Manifest:
        """Withdraw the published generation, in one step, for the last one before it that is whole."""
        published, kept = await self.published(), await self._names.kept()
        if not kept:
            raise IndexNotFoundError(NO_INDEX_MESSAGE)
        await self._check_alone()
        for at, generation in enumerate(kept):
            if generation != published and (manifest := await self._verified(generation)):
                await self._names.withdraw(kept[:at], generation)
                with suppress(BookboundError):  # without this note they would pass for drafts that are being written
                    for each in kept[:at]:
                        await self._put_note(each, {})
                return manifest
        raise BookIndexError(NO_EARLIER_MESSAGE)

    async def sweep(self, mine: str) -> None:
        """Remove this draft if it was not published, those of dead writers, and generations past their time.

        That is when enough newer ones are whole: one that is not stays till then, and takes no other's place.
        """
        kept, whole, past = await self._names.kept(), 0, list[str]()
        for generation in kept:
            if whole >= KEPT_GENERATIONS:
                past.append(generation)
            elif await self._is_whole(generation):
                whole += 1
        for generation in await self._names.generations():
            draft = generation not in kept
            if generation in past or (draft and (generation == mine or not await self._is_written(generation))):
                await self._remove(generation)

    async def _verified(self, generation: str) -> Manifest | None:
        """What a generation says of itself, if it was found in it."""
        with suppress(BookIndexError):
            manifest = await self.whole(generation)
            await verify_contents(QdrantShard(self.line, self.collection(generation)), manifest)
            return manifest
        return None

    async def _is_whole(self, generation: str) -> bool:
        with suppress(BookIndexError):
            return bool(await self.whole(generation))
        return False

    async def _check_alone(self, mine: str = "") -> None:
        kept = await self._names.kept()
        for generation in await self._names.generations():
            if generation not in (mine, *kept) and await self._is_written(generation):
                raise IndexLockedError(BUSY_MESSAGE)

    async def _is_written(self, draft: str) -> bool:
        """Whether something was heard of a draft's writer lately; at first that is the time in its name."""
        try:
            note = await self._note(draft)
        except IndexNotFoundError:
            return False
        return str(draft if note is None else note.get("written", "")) > new_generation_id(age=WRITER_TIMEOUT)

    async def _published(self) -> str:
        if generation := await self.published():
            return generation
        raise IndexNotFoundError(NO_INDEX_MESSAGE)

    async def _manifest(self, generation: str) -> Manifest:
        note = await self._note(generation)
        return serialization.load_manifest(str((note or {}).get("manifest", "")))[0]

    async def _note(self, generation: str) -> dict[str, Any] | None:
        found = await self.line.ask(lambda client: client.retrieve(self.collection(generation), [MANIFEST_POINT_ID]))
        return found[0].payload or {} if found else None

    async def _put_note(self, generation: str, note: dict[str, str]) -> None:
        from qdrant_client import models

        point = models.PointStruct(id=MANIFEST_POINT_ID, vector={}, payload=note)
        await self.line.ask(lambda client: client.upsert(self.collection(generation), [point], wait=True))

    async def _remove(self, generation: str) -> None:
        await self.line.ask(lambda client: client.delete_collection(self.collection(generation)))
