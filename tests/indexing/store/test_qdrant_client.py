"""Tests the requests to a Qdrant server, and the error for each way in which it fails."""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import Callable, Coroutine, Iterator
from contextlib import suppress
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from qdrant_client import AsyncQdrantClient, models
from qdrant_client.http.exceptions import UnexpectedResponse
from tests.indexing.store.qdrant_server import Call, Fault, QdrantServer, run_server

from bookbound import services
from bookbound.domain.chunk import Chunk
from bookbound.domain.errors import (
    BookboundError,
    BookIndexError,
    CorruptIndexError,
    EmbedderMismatchError,
    IndexNotFoundError,
    ServiceAuthenticationError,
    ServiceError,
    ServiceRateLimitError,
    ServiceResponseError,
    ServiceTimeoutError,
    ServiceUnreachableError,
)
from bookbound.domain.manifest import Manifest
from bookbound.domain.question import Deadline
from bookbound.indexing.store.qdrant_shard import MAX_BATCHES_IN_FLIGHT
from bookbound.indexing.store.qdrant_store import QdrantStore

Make = Callable[..., Chunk]
Publish = Callable[..., Coroutine[Any, Any, Manifest]]
Vectors = Callable[..., NDArray[np.float32]]
ALWAYS = 20
OK = json.dumps({"result": {"operation_id": 1, "status": "completed"}, "status": "ok", "time": 0.0}).encode()
NOTHING = json.dumps({"result": {"points": []}, "status": "ok", "time": 0.0}).encode()
DIMENSION = b'{"status": {"error": "Wrong input: Vector dimension error: expected dim: 8, got 5"}}'

# The client warns about a key that is sent without TLS, as it is in these tests.
pytestmark = pytest.mark.filterwarnings("ignore:Api key is used with an insecure connection")


@pytest.fixture(params=["local mode", "real server"])
def server(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[QdrantServer]:
    monkeypatch.setattr(services, "FIRST_RETRY_SECONDS", 0.001)
    real = request.getfixturevalue("qdrant_node") if request.param == "real server" else None
    if real:
        real.clear()
    with run_server(upstream=real.urls if real else "") as started:
        yield started


def store_at(server: QdrantServer, key: str | None = None, timeout: float = 60) -> QdrantStore:
    return QdrantStore(server.url, key, timeout=timeout)


async def search(store: QdrantStore, words: str = "zyzzyva") -> list[str]:
    index = await store.open()
    try:
        return [passage.chunk.text for passage in await index.search(words, np.ones(8, np.float32), 1)]
    finally:
        await index.close()


FAULTS = [
    (Fault(400, DIMENSION), EmbedderMismatchError, None),
    (Fault(401, b"Invalid API key or JWT"), ServiceAuthenticationError, None),
    (Fault(403, b"Global access is required"), ServiceAuthenticationError, None),
    (Fault(404), IndexNotFoundError, None),
    (Fault(408), ServiceTimeoutError, None),
    (Fault(422), BookIndexError, None),
    (Fault(429, headers=(("Retry-After", "77"),)), ServiceRateLimitError, 77),
    (Fault(429, headers=(("Retry-After", "tomorrow"),)), ServiceRateLimitError, None),
    (Fault(429), ServiceRateLimitError, None),
    (Fault(500, b'{"status": {"error": "Service internal error: zyzzyva"}}'), ServiceUnreachableError, None),
    (Fault(502, b"<html>Bad gateway</html>"), ServiceUnreachableError, None),
    (Fault(503), ServiceUnreachableError, None),
    (Fault(504), ServiceTimeoutError, None),
    (Fault(way="hang up"), ServiceUnreachableError, None),
    (Fault(way="cut off"), ServiceUnreachableError, None),
    (Fault(200, b"<html>Welcome</html>"), ServiceResponseError, None),
    (Fault(200, b"\xff\xfe"), ServiceResponseError, None),
    (Fault(200, b""), ServiceResponseError, None),
    (Fault(200, b'{"result": null, "status": "ok"}'), ServiceResponseError, None),
    (Fault(200, b'{"result": {"points": "zyzzyva"}}'), ServiceResponseError, None),
]


@pytest.mark.parametrize(("fault", "error", "wait"), FAULTS)
@pytest.mark.parametrize("path", ["/aliases", "/points/query"])
def test_each_failure_becomes_its_error_without_the_server_text(
    server: QdrantServer,
    chunks: list[Chunk],
    publish: Publish,
    path: str,
    fault: Fault,
    error: type[BookboundError],
    wait: float | None,
) -> None:
    asyncio.run(publish(store_at(server), chunks))
    server.fail(fault, path, ALWAYS)
    with pytest.raises(error) as raised:
        asyncio.run(search(store_at(server)))
    assert type(raised.value) is error
    assert getattr(raised.value, "service", "qdrant") == "qdrant"
    assert getattr(raised.value, "retry_after", None) == wait
    assert "zyzzyva" not in str(raised.value)
    assert "127.0.0.1" not in str(raised.value)
    assert raised.value.__cause__ is None
    assert raised.value.__suppress_context__


@pytest.mark.parametrize("path", ["/aliases", "/points/query"])
def test_a_silent_server_times_out(server: QdrantServer, chunks: list[Chunk], publish: Publish, path: str) -> None:
    asyncio.run(publish(store_at(server), chunks))
    server.fail(Fault(way="be silent"), path, ALWAYS)
    with pytest.raises(ServiceTimeoutError) as raised:
        asyncio.run(search(store_at(server, timeout=1)))
    assert raised.value.service == "qdrant"


def test_a_silent_server_does_not_exceed_the_deadline(
    server: QdrantServer, chunks: list[Chunk], publish: Publish
) -> None:
    async def go() -> None:
        index = await store_at(server, timeout=3600).open()
        with pytest.raises(ServiceTimeoutError):
            await index.search("zyzzyva", np.ones(8, np.float32), 1, Deadline.after(0.2))
        await index.close()

    asyncio.run(publish(store_at(server), chunks))
    server.fail(Fault(way="be silent"), "/points/query", ALWAYS)
    asyncio.run(go())


def test_a_missing_server_is_unreachable(monkeypatch: pytest.MonkeyPatch, empty_manifest: Manifest) -> None:
    monkeypatch.setattr(services, "FIRST_RETRY_SECONDS", 0.001)
    with socket.create_server(("127.0.0.1", 0)) as unused:
        store = QdrantStore(f"http://127.0.0.1:{unused.getsockname()[1]}")

    async def write() -> None:
        async with store.writer(empty_manifest):
            pass

    for attempt in (store.open, store.generations, store.roll_back, write):
        with pytest.raises(ServiceUnreachableError, match="could not be reached"):
            asyncio.run(attempt())


@pytest.mark.parametrize("fault", [Fault(503), Fault(429), Fault(way="hang up"), Fault(200, b"{")])
def test_a_reader_survives_a_temporary_failure(
    server: QdrantServer, chunks: list[Chunk], publish: Publish, fault: Fault
) -> None:
    asyncio.run(publish(store_at(server), chunks))
    server.calls.clear()
    server.fail(fault, "/points/query", times=2)
    assert asyncio.run(search(store_at(server))) == [chunks[5].text]
    assert len(server.requests("POST", "/points/query")) == 3


@pytest.mark.parametrize("fault", [Fault(503), Fault(way="hang up"), Fault(way="be silent")])
def test_readers_and_writers_go_to_the_next_node_and_stay_there(
    server: QdrantServer, chunks: list[Chunk], publish: Publish, fault: Fault
) -> None:
    with run_server() as broken:
        broken.fail(fault, times=ALWAYS)
        published = asyncio.run(publish(store_at(server), chunks, title="first"))
        store = QdrantStore(f"{broken.url},{server.url}", timeout=20)
        assert asyncio.run(store.published_generation()) == published.generation
        assert asyncio.run(search(store)) == [chunks[5].text]
        assert asyncio.run(publish(store, chunks, title="second")).title == "second"
        assert len(broken.calls) == 1


def test_a_node_that_has_not_caught_up_is_passed_over(
    server: QdrantServer, chunks: list[Chunk], publish: Publish
) -> None:
    asyncio.run(publish(store_at(server), chunks))
    with run_server() as broken, run_server() as starting:
        broken.fail(Fault(way="hang up"), times=ALWAYS)
        starting.fail(Fault(503), "/readyz", times=ALWAYS)
        store = QdrantStore(f"{broken.url},{starting.url},{server.url}", timeout=30)
        assert asyncio.run(search(store)) == [chunks[5].text]
        assert {call.path for call in starting.calls} == {"/readyz"}


@pytest.mark.parametrize(("status", "tries"), [(401, 1), (404, 1), (422, 1), (500, 3)])
def test_only_temporary_failures_are_retried(
    server: QdrantServer, chunks: list[Chunk], publish: Publish, status: int, tries: int
) -> None:
    asyncio.run(publish(store_at(server), chunks))
    server.calls.clear()
    server.fail(Fault(status), "/points/query", ALWAYS)
    with pytest.raises(BookboundError):
        asyncio.run(search(store_at(server)))
    assert len(server.requests("POST", "/points/query")) == tries


@pytest.mark.parametrize("way", ["answer", "hang up", "do it and hang up"])
@pytest.mark.parametrize("path", ["/collections/bookbound-", "/index", "/points", "/collections/aliases"])
def test_a_writer_survives_a_temporary_failure(
    server: QdrantServer, chunks: list[Chunk], publish: Publish, path: str, way: Any
) -> None:
    server.fail(Fault(503, way=way), path)
    published = asyncio.run(publish(store_at(server), chunks))
    assert not server.faults
    assert asyncio.run(store_at(server).generations()) == [published]
    assert [each.name for each in server.client.get_collections().collections] == [f"bookbound-{published.generation}"]


@pytest.mark.parametrize("path", ["/index", "/points", "/points/scroll", "/points/query", "/collections/aliases"])
def test_a_failing_writer_leaves_the_published_generation_and_no_draft(
    server: QdrantServer, chunks: list[Chunk], publish: Publish, path: str
) -> None:
    first = asyncio.run(publish(store_at(server), chunks, title="first"))
    server.fail(Fault(500), path, times=3)
    with pytest.raises(ServiceUnreachableError):
        asyncio.run(publish(store_at(server), chunks, title="second"))
    assert asyncio.run(store_at(server).generations()) == [first]
    assert [each.name for each in server.client.get_collections().collections] == [f"bookbound-{first.generation}"]


@pytest.mark.parametrize(
    ("path", "answer", "times"),
    [("/points", OK, 2), ("/points/query", NOTHING, 1), ("/points/query", NOTHING, 2)],
)
def test_chunks_that_the_server_cannot_return_are_not_published(
    server: QdrantServer, chunks: list[Chunk], publish: Publish, path: str, answer: bytes, times: int
) -> None:
    server.fail(Fault(200, answer), path, times)
    with pytest.raises(CorruptIndexError, match="Index the book again"):
        asyncio.run(publish(store_at(server), chunks))
    assert not any(("create_alias", "bookbound") in alias_changes(call) for call in server.calls)


def test_the_key_is_sent_with_every_request_and_a_wrong_one_is_rejected(chunks: list[Chunk], publish: Publish) -> None:
    with run_server(key="right") as server:
        asyncio.run(publish(store_at(server, "right"), chunks))
        assert {call.key for call in server.calls} == {"right"}
        for key in ("wrong-key", None):
            with pytest.raises(ServiceAuthenticationError, match="rejected the key") as raised:
                asyncio.run(store_at(server, key).open())
            assert isinstance(raised.value, ServiceError)
            assert raised.value.service == "qdrant"
            assert "wrong-key" not in str(raised.value)


def test_a_collection_has_the_configured_layout_and_an_index_before_any_chunk(
    server: QdrantServer, chunks: list[Chunk], publish: Publish
) -> None:
    published = asyncio.run(publish(QdrantStore(server.url, shards=6, replicas=3, write_consistency=2), chunks))
    (creation,) = server.requests("PUT", f"/bookbound-{published.generation}")
    assert creation.body == {
        "vectors": {"dense": {"size": 8, "distance": "Cosine", "on_disk": True}},
        "quantization_config": {"scalar": {"type": "int8", "always_ram": True}},
        "sparse_vectors": {"sparse": {"modifier": "idf"}},
        "shard_number": 6,
        "replication_factor": 3,
        "write_consistency_factor": 2,
    }
    (indexed,) = server.requests("PUT", "/index")
    assert indexed.body == {"field_name": "file", "field_schema": "keyword"}
    assert server.calls.index(indexed) < server.calls.index(server.requests("PUT", "/points")[0])


def alias_changes(call: Call) -> list[tuple[str, str]]:
    """The kind of each change of a request, with the alias that is there afterwards or was deleted."""
    if not call.path.endswith("/collections/aliases"):
        return []
    names = ("alias_name", "new_alias_name")
    return [
        (kind, what[name])
        for each in call.body["actions"]
        for kind, what in each.items()
        for name in names
        if name in what
    ]


def test_publishing_and_rolling_back_take_one_request_each(
    server: QdrantServer, chunks: list[Chunk], publish: Publish
) -> None:
    async def go() -> tuple[Manifest, Manifest]:
        store = store_at(server)
        manifests = await publish(store, chunks), await publish(store, chunks)
        await store.roll_back()
        return manifests

    one, two = (f"bookbound-{each.generation}" for each in asyncio.run(go()))
    assert [alias_changes(call) for call in server.requests("POST", "/collections/aliases")] == [
        [("create_alias", f"{one}-draft")],
        [("rename_alias", f"{one}-published"), ("create_alias", "bookbound")],
        [("create_alias", f"{two}-draft")],
        [("rename_alias", f"{two}-published"), ("create_alias", "bookbound")],
        [("rename_alias", f"{two}-withdrawn"), ("create_alias", "bookbound")],
    ]


def repeat(server: QdrantServer, call: Call) -> None:
    """Lets the server carry out a request again, as a node does that was suspended when it came."""
    with suppress(UnexpectedResponse):
        asyncio.run(_send(server, call))


async def _send(server: QdrantServer, call: Call) -> None:
    client = AsyncQdrantClient(url=server.url, check_compatibility=False)
    if call.path.endswith("/points"):
        await client.upsert(call.path.split("/")[2], models.PointsList.model_validate(call.body).points, wait=True)
    else:
        actions = models.ChangeAliasesOperation.model_validate(call.body).actions
        await client.update_collection_aliases(actions)
    await client.close()


def test_a_switch_that_the_server_repeats_later_changes_nothing(
    server: QdrantServer, chunks: list[Chunk], publish: Publish
) -> None:
    store = store_at(server)
    for title in "abc":
        asyncio.run(publish(store, chunks, title=title))
    asyncio.run(store.roll_back())
    newest = asyncio.run(publish(store, chunks, title="d"))
    for call in server.requests("POST", "/collections/aliases"):
        if ("create_alias", "bookbound") in alias_changes(call):
            repeat(server, call)
            assert asyncio.run(store.published_generation()) == newest.generation


def test_a_heartbeat_that_the_server_stores_late_does_not_damage_the_index(
    server: QdrantServer, chunks: list[Chunk], publish: Publish
) -> None:
    published = asyncio.run(publish(store_at(server), chunks))
    for call in server.requests("PUT", "/points"):
        if len(call.body["points"]) == 1 and "written" in call.body["points"][0]["payload"]:
            repeat(server, call)
    assert asyncio.run(store_at(server).generations()) == [published]
    assert asyncio.run(search(store_at(server))) == [chunks[5].text]


@pytest.mark.parametrize("way", ["answer", "do it and hang up"])
def test_a_switch_without_a_reply_is_published_or_cancelled(
    server: QdrantServer, chunks: list[Chunk], publish: Publish, way: Any
) -> None:
    first = asyncio.run(publish(store_at(server), chunks, title="first"))
    server.fail(Fault(500, way=way), "/collections/aliases", times=3, after=1)
    if way == "answer":
        with pytest.raises(ServiceUnreachableError):
            asyncio.run(publish(store_at(server), chunks, title="second"))
        assert asyncio.run(store_at(server).generations()) == [first]
    else:
        second = asyncio.run(publish(store_at(server), chunks, title="second"))
        assert asyncio.run(store_at(server).generations()) == [second, first]


def test_the_server_fuses_the_scores_and_counts_meaning_four_times(
    server: QdrantServer, chunks: list[Chunk], publish: Publish
) -> None:
    asyncio.run(publish(store_at(server), chunks))
    server.calls.clear()
    asyncio.run(search(store_at(server)))
    (call,) = server.requests("POST", "/points/query")
    assert call.body["query"] == {"fusion": "dbsf"}
    assert [half["using"] for half in call.body["prefetch"]] == ["dense"] * 4 + ["sparse"]


def test_few_batches_are_in_flight_and_each_is_confirmed(
    server: QdrantServer, empty_manifest: Manifest, chunk: Make, vectors: Vectors
) -> None:
    many = [chunk(number) for number in range(640)]

    async def go() -> None:
        async with store_at(server).writer(empty_manifest) as writer:
            server.upserts_at_once = MAX_BATCHES_IN_FLIGHT
            await writer.add(many, vectors(640))
            assert server.most_upserts == MAX_BATCHES_IN_FLIGHT
            assert (await writer.publish()).chunks == 640

    asyncio.run(go())
    sent = server.requests("PUT", "/points")
    assert all(call.query["wait"] == ["true"] for call in sent)
    assert max(len(call.body["points"]) for call in sent) == 64


def test_a_reader_keeps_its_connection(server: QdrantServer, chunks: list[Chunk], publish: Publish) -> None:
    async def go() -> None:
        index = await store_at(server).open()
        before = server.connections
        for _ in range(10):
            await index.search("zyzzyva", np.ones(8, np.float32), 1)
        await index.close()
        assert server.connections == before

    asyncio.run(publish(store_at(server), chunks))
    asyncio.run(go())


def test_a_generation_removed_while_opening_gives_way_to_the_published_one(
    server: QdrantServer, chunks: list[Chunk], publish: Publish
) -> None:
    first = asyncio.run(publish(store_at(server), chunks, title="first"))
    asyncio.run(publish(store_at(server), chunks, title="second"))
    switch = models.CreateAlias(collection_name=f"bookbound-{first.generation}", alias_name="bookbound")
    steps: list[models.AliasOperations] = [models.CreateAliasOperation(create_alias=switch)]
    server.fail(Fault(404, meanwhile=lambda: server.client.update_collection_aliases(steps)), "/points")

    async def go() -> None:
        index = await store_at(server).open()
        assert index.manifest == first
        await index.close()

    asyncio.run(go())


def test_the_error_for_a_removed_generation_says_to_open_again(
    server: QdrantServer, chunks: list[Chunk], publish: Publish
) -> None:
    async def go() -> None:
        store = store_at(server)
        await publish(store, chunks, title="old")
        index = await store.open()
        for _ in range(3):
            await publish(store, chunks, title="new")
        with pytest.raises(IndexNotFoundError, match="Open the index again"):
            await index.search("zyzzyva", np.ones(8, np.float32), 1)
        await index.close()

    asyncio.run(go())
