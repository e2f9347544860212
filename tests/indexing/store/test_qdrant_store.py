"""Tests that the Qdrant store allows one writer and removes old collections."""

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
from bookbound.indexing.store import index_format
from bookbound.indexing.store.index_format import new_generation_id
from bookbound.indexing.store.qdrant_shard import HEARTBEAT_POINT_ID, MANIFEST_POINT_ID
from bookbound.indexing.store.qdrant_store import QdrantStore

Publish = Callable[..., Coroutine[Any, Any, Manifest]]
Vectors = Callable[..., NDArray[np.float32]]
REPOSITORY = Path(__file__).resolve().parents[3]

pytestmark = pytest.mark.filterwarnings("ignore:Payload indexes have no effect in the local Qdrant")


@pytest.fixture(params=["local mode", "real server"])
def client(request: pytest.FixtureRequest) -> AsyncQdrantClient:
    if request.param == "local mode":
        return AsyncQdrantClient(location=":memory:")
    real = request.getfixturevalue("qdrant_node")
    real.clear()
    return AsyncQdrantClient(url=real.urls, check_compatibility=False)


def test_an_invalid_url_is_a_config_error() -> None:
    with pytest.raises(ConfigError, match="qdrant_url"):
        asyncio.run(QdrantStore("ftp://books").open())


@pytest.mark.parametrize("key", ["ключ", "sec\nret"])
def test_an_invalid_key_is_a_config_error_that_does_not_show_it(key: str) -> None:
    with pytest.raises(ConfigError, match="qdrant_key") as raised:
        asyncio.run(QdrantStore("http://127.0.0.1:1", key).open())
    assert key.strip() not in str(raised.value)


def test_a_missing_package_is_named_with_the_command_that_installs_it() -> None:
    code = """
import sys
sys.modules["qdrant_client"] = None
from bookbound.bootstrap.components import build_store
from bookbound.domain.errors import ConfigError
from bookbound.settings import Settings
try:
    build_store(Settings(qdrant_url="http://localhost:6333"))
except ConfigError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert 'pip install "qdrant-client>=1.15"' in done.stdout, done.stderr


async def leave_draft(client: AsyncQdrantClient, age: timedelta, heartbeat: timedelta | None = None) -> str:
    """Creates a collection as a killed writer leaves it, with its age and that of its last heartbeat."""
    name = f"bookbound-{new_generation_id(age)}"
    await client.create_collection(name, vectors_config={})
    if heartbeat is not None:
        written = {"written": new_generation_id(heartbeat)}
        await client.upsert(name, [models.PointStruct(id=HEARTBEAT_POINT_ID, vector={}, payload=written)])
    return name


async def collection_names(client: AsyncQdrantClient) -> set[str]:
    return {collection.name for collection in (await client.get_collections()).collections}


def test_drafts_of_dead_writers_are_removed_and_other_collections_are_not(
    client: AsyncQdrantClient, chunks: list[Chunk], publish: Publish
) -> None:
    async def go() -> None:
        await leave_draft(client, age=timedelta(minutes=6))
        await leave_draft(client, age=timedelta(days=2), heartbeat=timedelta(minutes=6))
        foreign = {f"bookbound-other-{new_generation_id(timedelta(days=2))}", "bookbound-notes"}
        for name in foreign:
            await client.create_collection(name, vectors_config={})
        published = await publish(QdrantStore(client), chunks)
        assert await collection_names(client) == {*foreign, f"bookbound-{published.generation}"}

    asyncio.run(go())


@pytest.mark.parametrize("heartbeat", [None, timedelta(minutes=4)])
def test_a_writer_with_a_recent_heartbeat_excludes_others(
    client: AsyncQdrantClient, chunks: list[Chunk], publish: Publish, heartbeat: timedelta | None
) -> None:
    async def go() -> None:
        age = timedelta(minutes=4) if heartbeat is None else timedelta(days=2)
        running = await leave_draft(client, age, heartbeat)
        with pytest.raises(IndexLockedError, match="wait 5 minutes"):
            await publish(QdrantStore(client), chunks)
        assert await collection_names(client) == {running}

    asyncio.run(go())


def test_a_writer_sends_a_heartbeat_with_each_batch(
    client: AsyncQdrantClient, empty_manifest: Manifest, chunks: list[Chunk], vectors: Vectors
) -> None:
    async def heartbeat() -> str:
        (draft,) = await collection_names(client)
        (status,) = await client.retrieve(draft, [HEARTBEAT_POINT_ID])
        return str((status.payload or {})["written"])

    async def go() -> None:
        async with QdrantStore(client).writer(empty_manifest) as writer:
            await writer.add(chunks[:1], vectors(1))
            first = await heartbeat()
            await writer.add(chunks[1:], vectors(5))
            assert await heartbeat() > first

    asyncio.run(go())


def test_of_two_concurrent_writers_at_most_one_starts(
    client: AsyncQdrantClient, empty_manifest: Manifest, chunks: list[Chunk], vectors: Vectors
) -> None:
    undecided, all_decided = 2, asyncio.Event()

    def decide() -> None:
        nonlocal undecided
        undecided -= 1
        if not undecided:
            all_decided.set()

    async def write(store: QdrantStore) -> Manifest:
        try:
            async with store.writer(empty_manifest) as writer:
                decide()
                await all_decided.wait()
                await writer.add(chunks, vectors(6))
                return await writer.publish()
        except IndexLockedError:
            decide()
            raise

    async def go() -> None:
        outcomes = await asyncio.gather(*(write(QdrantStore(client)) for _ in range(2)), return_exceptions=True)
        refused = [outcome for outcome in outcomes if isinstance(outcome, IndexLockedError)]
        published = [outcome for outcome in outcomes if isinstance(outcome, Manifest)]
        assert refused
        assert len(refused) + len(published) == 2
        assert await collection_names(client) == {f"bookbound-{manifest.generation}" for manifest in published}

    asyncio.run(go())


def test_a_dropped_generation_stays_until_the_next_writer(
    client: AsyncQdrantClient, chunks: list[Chunk], publish: Publish
) -> None:
    async def go() -> None:
        store = QdrantStore(client)
        first, second = await publish(store, chunks), await publish(store, chunks)
        await store.roll_back()
        assert f"bookbound-{second.generation}" in await collection_names(client)
        third = await publish(store, chunks)
        assert await collection_names(client) == {f"bookbound-{each.generation}" for each in (first, third)}

    asyncio.run(go())


def test_a_rollback_skips_damaged_generations(client: AsyncQdrantClient, chunks: list[Chunk], publish: Publish) -> None:
    async def go() -> None:
        store = QdrantStore(client)
        for title in "abc":
            await publish(store, chunks, title=title)
        middle = (await store.generations())[1]
        lost = models.PointIdsList(points=[chunks[0].id])
        await client.delete(f"bookbound-{middle.generation}", lost)
        assert (await store.roll_back()).title == "a"

    asyncio.run(go())


async def delete_chunk(client: AsyncQdrantClient, generation: str, chunk: Chunk) -> None:
    await client.delete(f"bookbound-{generation}", models.PointIdsList(points=[chunk.id]))


def test_a_rollback_also_drops_damaged_generations_in_between(
    client: AsyncQdrantClient, chunks: list[Chunk], publish: Publish
) -> None:
    async def go() -> None:
        store = QdrantStore(client)
        first, second, _ = [await publish(store, chunks, title=title) for title in "abc"]
        await delete_chunk(client, second.generation, chunks[0])
        assert (await store.roll_back(), await store.generations()) == (first, [first])
        newest = await publish(store, chunks)
        assert await collection_names(client) == {f"bookbound-{each.generation}" for each in (first, newest)}

    asyncio.run(go())


def test_a_rollback_verifies_the_contents(client: AsyncQdrantClient, chunks: list[Chunk], publish: Publish) -> None:
    async def go() -> None:
        store = QdrantStore(client)
        first, second, _ = [await publish(store, chunks, title=title) for title in "abc"]
        await client.set_payload(f"bookbound-{second.generation}", {"text": "Another."}, [chunks[0].id])
        assert await store.roll_back() == first

    asyncio.run(go())


def test_a_rollback_replaces_a_missing_published_collection(
    client: AsyncQdrantClient, chunks: list[Chunk], publish: Publish
) -> None:
    async def go() -> None:
        store = QdrantStore(client)
        first, second = await publish(store, chunks), await publish(store, chunks)
        aliases_of_second = [f"bookbound-{second.generation}-published", "bookbound"]
        for alias in aliases_of_second:  # a server does this by itself
            step = models.DeleteAliasOperation(delete_alias=models.DeleteAlias(alias_name=alias))
            await client.update_collection_aliases([step])
        await client.delete_collection(f"bookbound-{second.generation}")
        assert (await store.published_generation(), await store.roll_back()) == ("", first)
        await (await store.open()).close()

    asyncio.run(go())


def test_a_damaged_generation_does_not_count_as_kept(
    client: AsyncQdrantClient, chunks: list[Chunk], publish: Publish
) -> None:
    async def go() -> None:
        store = QdrantStore(client)
        manifests = [await publish(store, chunks) for _ in range(3)]
        await delete_chunk(client, manifests[2].generation, chunks[0])
        manifests.append(await publish(store, chunks))
        assert await collection_names(client) == {f"bookbound-{each.generation}" for each in manifests}
        manifests += [await publish(store, chunks) for _ in range(2)]
        assert await collection_names(client) == {f"bookbound-{each.generation}" for each in manifests[3:]}

    asyncio.run(go())


@pytest.mark.parametrize("owner", ["a collection", "an alias"])
def test_a_name_that_something_else_has_is_refused_before_writing(
    client: AsyncQdrantClient, chunks: list[Chunk], publish: Publish, owner: str
) -> None:
    async def go() -> None:
        name = "bookbound" if owner == "a collection" else "poems"
        await client.create_collection(name, vectors_config={})
        if name == "poems":
            alias = models.CreateAlias(collection_name=name, alias_name="bookbound")
            await client.update_collection_aliases([models.CreateAliasOperation(create_alias=alias)])
        with pytest.raises(ConfigError, match="qdrant_collection"):
            await publish(QdrantStore(client), chunks)
        assert await collection_names(client) == {name}

    asyncio.run(go())


def test_a_generation_of_a_killed_writer_never_counts(
    client: AsyncQdrantClient, chunks: list[Chunk], publish: Publish
) -> None:
    async def finish(like: Manifest) -> None:
        killed = replace(like, generation=new_generation_id(timedelta(minutes=6)), title="killed")
        await client.create_collection(f"bookbound-{killed.generation}", vectors_config={})
        status = {"manifest": json.dumps(index_format.dump_manifest(killed))}
        point = models.PointStruct(id=MANIFEST_POINT_ID, vector={}, payload=status)
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


def test_a_removed_collection_leaves_no_alias(client: AsyncQdrantClient, chunks: list[Chunk], publish: Publish) -> None:
    async def go() -> None:
        store = QdrantStore(client)
        for _ in range(5):
            await publish(store, chunks)
        aliases = {alias.alias_name for alias in (await client.get_aliases()).aliases}
        marks = {f"bookbound-{manifest.generation}-published" for manifest in await store.generations()}
        assert aliases == {"bookbound", *marks}
        assert len(marks) == 3

    asyncio.run(go())


def test_the_qdrant_store_imports_no_unix_only_module() -> None:
    code = "import sys; sys.modules['fcntl'] = None; import bookbound.indexing.store.qdrant_store"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


def test_every_imported_package_is_declared() -> None:
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())["project"]
    declared = " ".join([*project["dependencies"], *project["optional-dependencies"]["qdrant"]]).lower()
    distributions = packages_distributions()
    for file in (REPOSITORY / "src" / "bookbound" / "indexing" / "store").glob("*.py"):
        for node in ast.walk(ast.parse(file.read_text())):
            names = [each.name for each in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            for top in {name.split(".")[0] for name in names} - sys.stdlib_module_names - {"bookbound"}:
                assert any(name.lower() in declared for name in distributions[top]), f"{file.name} imports {top}"


def test_a_failing_writer_never_removes_the_published_collection(
    client: AsyncQdrantClient, empty_manifest: Manifest
) -> None:
    async def go() -> None:
        published = f"bookbound-{new_generation_id(timedelta(days=2))}"
        await client.create_collection(published, vectors_config={})
        alias = models.CreateAlias(collection_name=published, alias_name="bookbound")
        await client.update_collection_aliases([models.CreateAliasOperation(create_alias=alias)])
        async with QdrantStore(client).writer(empty_manifest):
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


def test_a_collection_without_one_of_its_chunks_is_damaged(
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
