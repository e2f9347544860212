"""What the store on a server promises beyond the contract: errors in our words, and tidy collections."""

from __future__ import annotations

import ast
import asyncio
import json
import socket
import subprocess
import sys
import threading
import tomllib
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import timedelta
from http.server import BaseHTTPRequestHandler, HTTPServer
from importlib.metadata import packages_distributions
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from qdrant_client import AsyncQdrantClient, models

from bookbound.book import Chunk, Manifest
from bookbound.errors import (
    BadSetup,
    BookboundError,
    DamagedIndex,
    LimitReached,
    NoIndex,
    ServiceTrouble,
    TimedOut,
    Unreachable,
)
from bookbound.store import records
from bookbound.store.naming import new_id
from bookbound.store.qdrant import QdrantStore

Publish = Callable[..., Coroutine[Any, Any, Manifest]]
Vectors = Callable[..., NDArray[np.float32]]
REPOSITORY = Path(__file__).resolve().parents[2]

pytestmark = pytest.mark.filterwarnings("ignore:Payload indexes have no effect in the local Qdrant")


@pytest.fixture
def client() -> AsyncQdrantClient:
    return AsyncQdrantClient(location=":memory:")


@contextmanager
def answering(status: int) -> Iterator[str]:
    """The address of a server that answers everything with one status."""

    class Answer(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(status)
            self.send_header("Retry-After", "7")
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    server = HTTPServer(("127.0.0.1", 0), Answer)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.mark.parametrize(
    ("status", "error"),
    [(401, BadSetup), (403, BadSetup), (404, NoIndex), (429, LimitReached), (500, Unreachable), (503, Unreachable)],
)
def test_what_a_server_answers_becomes_an_error_of_ours(status: int, error: type[BookboundError]) -> None:
    with answering(status) as address, pytest.raises(error) as raised:
        asyncio.run(QdrantStore(address).open())
    if isinstance(raised.value, ServiceTrouble):
        assert raised.value.service == "qdrant"
        assert raised.value.retry_after == (7 if status == 429 else None)


def test_a_server_that_is_not_there_is_unreachable() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    with pytest.raises(Unreachable, match="Check its address"):
        asyncio.run(QdrantStore(f"http://127.0.0.1:{port}").generations())


def test_a_draft_on_a_server_that_is_not_there_says_so(blank: Manifest) -> None:
    async def go() -> None:
        async with QdrantStore("http://127.0.0.1:1").draft(blank):
            pass

    with pytest.raises(Unreachable):
        asyncio.run(go())


def test_a_server_that_is_silent_times_out() -> None:
    async def go(port: int) -> None:
        client = AsyncQdrantClient(url=f"http://127.0.0.1:{port}", timeout=1, check_compatibility=False)
        try:
            await QdrantStore(client).open()
        finally:
            await client.close()

    with socket.create_server(("127.0.0.1", 0)) as silent, pytest.raises(TimedOut) as raised:
        asyncio.run(go(silent.getsockname()[1]))
    assert raised.value.service == "qdrant"


def test_an_address_that_is_none_is_bad_setup() -> None:
    with pytest.raises(BadSetup, match="http://localhost:6333"):
        asyncio.run(QdrantStore("ftp://books").open())


def test_a_missing_package_is_named_with_its_remedy() -> None:
    code = """
import asyncio, sys
sys.modules["qdrant_client"] = None
from bookbound.errors import BadSetup
from bookbound.store.qdrant import QdrantStore
try:
    asyncio.run(QdrantStore("http://localhost:6333").open())
except BadSetup as trouble:
    print(trouble)
"""
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert "pip install 'bookbound[qdrant]'" in said.stdout, said.stderr


def test_the_drafts_of_writers_long_dead_are_removed_and_those_of_others_are_not(
    client: AsyncQdrantClient, chunks: list[Chunk], publish: Publish
) -> None:
    async def go() -> None:
        dead, running = f"bookbound-{new_id(timedelta(days=2))}", f"bookbound-{new_id(timedelta(hours=1))}"
        foreign = [f"bookbound-other-{new_id(timedelta(days=2))}", "bookbound-notes"]
        for name in (dead, running, *foreign):
            await client.create_collection(name, vectors_config={})
        published = await publish(QdrantStore(client), chunks)
        names = {collection.name for collection in (await client.get_collections()).collections}
        assert names == {running, *foreign, f"bookbound-{published.generation}"}

    asyncio.run(go())


def test_a_generation_whose_writer_was_killed_before_publishing_never_counts(
    client: AsyncQdrantClient, chunks: list[Chunk], publish: Publish
) -> None:
    async def finish(like: Manifest) -> None:
        killed = replace(like, generation=new_id(), title="killed")
        await client.create_collection(f"bookbound-{killed.generation}", vectors_config={})
        kept = {"manifest": json.dumps(records.dump(killed))}
        point = models.PointStruct(id="00000000-0000-0000-0000-000000000000", vector={}, payload=kept)
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


def test_a_generation_begun_earlier_and_published_later_stands_first(
    client: AsyncQdrantClient, blank: Manifest, chunks: list[Chunk], vectors: Vectors, publish: Publish
) -> None:
    async def go() -> None:
        store = QdrantStore(client)
        async with store.draft(replace(blank, title="slow")) as draft:
            await draft.add(chunks, vectors(6))
            await publish(store, chunks, title="quick")
            await draft.publish()
        assert [manifest.title for manifest in await store.generations()] == ["slow", "quick"]

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
    code = "import sys; sys.modules['fcntl'] = None; import bookbound.store.qdrant"
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
        published = f"bookbound-{new_id(timedelta(days=2))}"
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
        with pytest.raises(DamagedIndex, match="Index the book again"):
            await store.open()

    asyncio.run(go())


def test_a_collection_without_a_manifest_is_damaged(
    client: AsyncQdrantClient, chunks: list[Chunk], publish: Publish
) -> None:
    async def go() -> None:
        store = QdrantStore(client)
        await publish(store, chunks)
        await client.delete("bookbound", models.PointIdsList(points=["00000000-0000-0000-0000-000000000000"]))
        with pytest.raises(DamagedIndex, match="Index the book again"):
            await store.open()

    asyncio.run(go())
