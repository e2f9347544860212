"""What the store on a server promises beyond the contract: one writer, and tidy collections."""

from __future__ import annotations

import ast
import asyncio
import json
import subprocess
import sys
import tomllib
from collections.abc import Callable, Coroutine
from dataclasses import replace
from datetime import timedelta
from importlib.metadata import packages_distributions
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from qdrant_client import AsyncQdrantClient, models

from bookbound.domain.chunk import Chunk
from bookbound.domain.errors import ConfigError, CorruptIndexError, IndexLockedError
from bookbound.domain.manifest import Manifest
from bookbound.indexing.store import new_generation_id, serialization
from bookbound.indexing.store.qdrant_shard import MANIFEST_POINT_ID
from bookbound.indexing.store.qdrant_store import QdrantStore

Publish = Callable[..., Coroutine[Any, Any, Manifest]]
Vectors = Callable[..., NDArray[np.float32]]
REPOSITORY = Path(__file__).resolve().parents[2]

pytestmark = pytest.mark.filterwarnings("ignore:Payload indexes have no effect in the local Qdrant")


@pytest.fixture
def client() -> AsyncQdrantClient:
    return AsyncQdrantClient(location=":memory:")


def test_an_address_that_is_none_is_bad_setup() -> None:
    with pytest.raises(ConfigError, match="http://localhost:6333"):
        asyncio.run(QdrantStore("ftp://books").open())


@pytest.mark.parametrize("key", ["ключ", "secret\n"])
def test_a_key_that_cannot_be_sent_is_bad_setup_and_is_not_repeated(key: str) -> None:
    with pytest.raises(ConfigError, match="qdrant_key") as raised:
        asyncio.run(QdrantStore("http://127.0.0.1:1", key).open())
    assert key.strip() not in str(raised.value)


def test_a_missing_package_is_named_with_its_remedy() -> None:
    code = """
import asyncio, sys
sys.modules["qdrant_client"] = None
from bookbound.domain.errors import BadSetup
from bookbound.indexing.store.qdrant_store import QdrantStore
try:
    asyncio.run(QdrantStore("http://localhost:6333").open())
except BadSetup as trouble:
    print(trouble)
"""
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert "pip install 'bookbound[qdrant]'" in said.stdout, said.stderr


async def leave_draft(client: AsyncQdrantClient, age: timedelta, heard: timedelta | None = None) -> str:
    """A collection as a killed writer leaves it, begun and last heard of so long ago."""
    name = f"bookbound-{new_generation_id(age)}"
    await client.create_collection(name, vectors_config={})
    if heard is not None:
        note = models.PointStruct(id=MANIFEST_POINT_ID, vector={}, payload={"written": new_generation_id(heard)})
        await client.upsert(name, [note])
    return name


async def names(client: AsyncQdrantClient) -> set[str]:
    return {collection.name for collection in (await client.get_collections()).collections}


def test_the_drafts_of_dead_writers_are_removed_and_what_is_anybody_elses_is_not(
    client: AsyncQdrantClient, chunks: list[Chunk], publish: Publish
) -> None:
    async def go() -> None:
        await leave_draft(client, age=timedelta(minutes=6))
        await leave_draft(client, age=timedelta(days=2), heard=timedelta(minutes=6))
        foreign = {f"bookbound-other-{new_generation_id(timedelta(days=2))}", "bookbound-notes"}
        for name in foreign:
            await client.create_collection(name, vectors_config={})
        published = await publish(QdrantStore(client), chunks)
        assert await names(client) == {*foreign, f"bookbound-{published.generation}"}

    asyncio.run(go())


@pytest.mark.parametrize("heard", [None, timedelta(minutes=4)])
def test_a_writer_that_was_heard_of_lately_keeps_others_out_and_its_draft(
    client: AsyncQdrantClient, chunks: list[Chunk], publish: Publish, heard: timedelta | None
) -> None:
    async def go() -> None:
        age = timedelta(minutes=4) if heard is None else timedelta(days=2)
        running = await leave_draft(client, age, heard)
        with pytest.raises(IndexLockedError, match="in 5 minutes"):
            await publish(QdrantStore(client), chunks)
        assert await names(client) == {running}

    asyncio.run(go())


def test_a_writer_is_heard_of_with_all_it_adds(
    client: AsyncQdrantClient, blank: Manifest, chunks: list[Chunk], vectors: Vectors
) -> None:
    async def heard() -> str:
        (draft,) = await names(client)
        (note,) = await client.retrieve(draft, [MANIFEST_POINT_ID])
        return str((note.payload or {})["written"])

    async def go() -> None:
        async with QdrantStore(client).draft(blank) as draft:
            await draft.add(chunks[:1], vectors(1))
            first = await heard()
            await draft.add(chunks[1:], vectors(5))
            assert await heard() > first

    asyncio.run(go())


def test_of_two_writers_that_begin_at_once_at_most_one_gets_in(
    client: AsyncQdrantClient, blank: Manifest, chunks: list[Chunk], vectors: Vectors
) -> None:
    async def write(store: QdrantStore) -> Manifest:
        async with store.draft(blank) as draft:
            await asyncio.sleep(0)
            await draft.add(chunks, vectors(6))
            await asyncio.sleep(0)
            return await draft.publish()

    async def go() -> None:
        outcomes = await asyncio.gather(*(write(QdrantStore(client)) for _ in range(2)), return_exceptions=True)
        refused = [outcome for outcome in outcomes if isinstance(outcome, IndexLockedError)]
        published = [outcome for outcome in outcomes if isinstance(outcome, Manifest)]
        assert refused
        assert len(refused) + len(published) == 2
        assert await names(client) == {f"bookbound-{manifest.generation}" for manifest in published}

    asyncio.run(go())


def test_a_withdrawn_generation_stays_for_its_readers_until_the_next_writer_comes(
    client: AsyncQdrantClient, chunks: list[Chunk], publish: Publish
) -> None:
    async def go() -> None:
        store = QdrantStore(client)
        first, second = await publish(store, chunks), await publish(store, chunks)
        await store.roll_back()
        assert f"bookbound-{second.generation}" in await names(client)
        third = await publish(store, chunks)
        assert await names(client) == {f"bookbound-{each.generation}" for each in (first, third)}

    asyncio.run(go())


def test_a_roll_back_passes_over_what_is_damaged(
    client: AsyncQdrantClient, chunks: list[Chunk], publish: Publish
) -> None:
    async def go() -> None:
        store = QdrantStore(client)
        for title in "abc":
            await publish(store, chunks, title=title)
        middle = (await store.generations())[1]
        lost = models.PointIdsList(points=[chunks[0].id])
        await client.delete(f"bookbound-{middle.generation}", lost)
        assert (await store.roll_back()).title == "a"

    asyncio.run(go())


async def lose(client: AsyncQdrantClient, generation: str, chunk: Chunk) -> None:
    await client.delete(f"bookbound-{generation}", models.PointIdsList(points=[chunk.id]))


def test_a_roll_back_withdraws_with_the_published_generation_what_is_damaged_before_it(
    client: AsyncQdrantClient, chunks: list[Chunk], publish: Publish
) -> None:
    async def go() -> None:
        store = QdrantStore(client)
        first, second, _ = [await publish(store, chunks, title=title) for title in "abc"]
        await lose(client, second.generation, chunks[0])
        assert (await store.roll_back(), await store.generations()) == (first, [first])
        newest = await publish(store, chunks)
        assert await names(client) == {f"bookbound-{each.generation}" for each in (first, newest)}

    asyncio.run(go())


def test_a_roll_back_reads_what_it_publishes(client: AsyncQdrantClient, chunks: list[Chunk], publish: Publish) -> None:
    async def go() -> None:
        store = QdrantStore(client)
        first, second, _ = [await publish(store, chunks, title=title) for title in "abc"]
        await client.set_payload(f"bookbound-{second.generation}", {"text": "Another."}, [chunks[0].id])
        assert await store.roll_back() == first

    asyncio.run(go())


def test_a_roll_back_is_the_way_out_where_the_published_collection_is_gone(
    client: AsyncQdrantClient, chunks: list[Chunk], publish: Publish
) -> None:
    async def go() -> None:
        store = QdrantStore(client)
        first, second = await publish(store, chunks), await publish(store, chunks)
        gone = [f"bookbound-{second.generation}-published", "bookbound"]
        for alias in gone:  # which a server does by itself
            step = models.DeleteAliasOperation(delete_alias=models.DeleteAlias(alias_name=alias))
            await client.update_collection_aliases([step])
        await client.delete_collection(f"bookbound-{second.generation}")
        assert (await store.published(), await store.roll_back()) == ("", first)
        await (await store.open()).close()

    asyncio.run(go())


def test_a_damaged_generation_takes_no_place_among_those_that_are_kept(
    client: AsyncQdrantClient, chunks: list[Chunk], publish: Publish
) -> None:
    async def go() -> None:
        store = QdrantStore(client)
        made = [await publish(store, chunks) for _ in range(3)]
        await lose(client, made[2].generation, chunks[0])
        made.append(await publish(store, chunks))
        assert await names(client) == {f"bookbound-{each.generation}" for each in made}
        made += [await publish(store, chunks) for _ in range(2)]
        assert await names(client) == {f"bookbound-{each.generation}" for each in made[3:]}

    asyncio.run(go())


@pytest.mark.parametrize("taken_by", ["a collection", "an alias"])
def test_a_name_that_stands_for_something_else_is_refused_before_anything_is_written(
    client: AsyncQdrantClient, chunks: list[Chunk], publish: Publish, taken_by: str
) -> None:
    async def go() -> None:
        name = "bookbound" if taken_by == "a collection" else "poems"
        await client.create_collection(name, vectors_config={})
        if name == "poems":
            alias = models.CreateAlias(collection_name=name, alias_name="bookbound")
            await client.update_collection_aliases([models.CreateAliasOperation(create_alias=alias)])
        with pytest.raises(ConfigError, match="qdrant_collection"):
            await publish(QdrantStore(client), chunks)
        assert await names(client) == {name}

    asyncio.run(go())


def test_a_generation_whose_writer_was_killed_before_publishing_never_counts(
    client: AsyncQdrantClient, chunks: list[Chunk], publish: Publish
) -> None:
    async def finish(like: Manifest) -> None:
        killed = replace(like, generation=new_generation_id(timedelta(minutes=6)), title="killed")
        await client.create_collection(f"bookbound-{killed.generation}", vectors_config={})
        kept = {"manifest": json.dumps(serialization.dump_manifest(killed))}
        point = models.PointStruct(id=MANIFEST_POINT_ID, vector={}, payload=kept)
        await client.upsert(f"bookbound-{killed.generation}", [point])

    async def go() -> None:
        store = QdrantStore(client)
        first = await publish(store, chunks, title="first")
        await finish(like=first)
        assert await store.generations() == [first]
        for title in ("second", "third"):
            await publish(store, chunks, title=title)
        assert [manifest.title for manifest in await store.generations()] == ["third", "second", "first"]

    asyncio.run(go())


def test_a_collection_that_goes_leaves_no_alias(
    client: AsyncQdrantClient, chunks: list[Chunk], publish: Publish
) -> None:
    async def go() -> None:
        store = QdrantStore(client)
        for _ in range(5):
            await publish(store, chunks)
        aliases = {alias.alias_name for alias in (await client.get_aliases()).aliases}
        kept = {f"bookbound-{manifest.generation}-published" for manifest in await store.generations()}
        assert aliases == {"bookbound", *kept}
        assert len(kept) == 3

    asyncio.run(go())


def test_the_module_needs_nothing_that_only_some_systems_have() -> None:
    code = "import sys; sys.modules['fcntl'] = None; import bookbound.indexing.store.qdrant_store"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


def test_every_package_that_is_imported_is_declared() -> None:
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())["project"]
    declared = " ".join([*project["dependencies"], *project["optional-dependencies"]["qdrant"]]).lower()
    distributions = packages_distributions()
    for file in (REPOSITORY / "src" / "bookbound" / "store").glob("*.py"):
        for node in ast.walk(ast.parse(file.read_text())):
            names = [each.name for each in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            for top in {name.split(".")[0] for name in names} - sys.stdlib_module_names - {"bookbound"}:
                assert any(name.lower() in declared for name in distributions[top]), f"{file.name} imports {top}"


def test_what_the_alias_names_is_never_removed_by_a_writer_that_gives_up(
    client: AsyncQdrantClient, blank: Manifest
) -> None:
    async def go() -> None:
        published = f"bookbound-{new_generation_id(timedelta(days=2))}"
        await client.create_collection(published, vectors_config={})
        alias = models.CreateAlias(collection_name=published, alias_name="bookbound")
        await client.update_collection_aliases([models.CreateAliasOperation(create_alias=alias)])
        async with QdrantStore(client).draft(blank):
            pass
        assert [each.name for each in (await client.get_collections()).collections] == [published]

    asyncio.run(go())


def test_two_books_share_a_server(client: AsyncQdrantClient, chunks: list[Chunk], publish: Publish) -> None:
    async def go() -> None:
        one, two = QdrantStore(client, collection="robots"), QdrantStore(client, collection="robots-2")
        for _ in range(4):
            await publish(one, chunks, title="one")
        await publish(two, chunks[:1], title="two")
        assert [manifest.title for manifest in await one.generations()] == ["one"] * 3
        assert [manifest.title for manifest in await two.generations()] == ["two"]

    asyncio.run(go())


def test_a_collection_that_lost_a_chunk_is_damaged(
    client: AsyncQdrantClient, chunks: list[Chunk], publish: Publish
) -> None:
    async def go() -> None:
        store = QdrantStore(client)
        await publish(store, chunks)
        await client.delete("bookbound", models.PointIdsList(points=[chunks[0].id]))
        with pytest.raises(CorruptIndexError, match="Index the book again"):
            await store.open()

    asyncio.run(go())


def test_a_collection_without_a_manifest_is_damaged(
    client: AsyncQdrantClient, chunks: list[Chunk], publish: Publish
) -> None:
    async def go() -> None:
        store = QdrantStore(client)
        await publish(store, chunks)
        await client.delete("bookbound", models.PointIdsList(points=[MANIFEST_POINT_ID]))
        with pytest.raises(CorruptIndexError, match="Index the book again"):
            await store.open()

    asyncio.run(go())
