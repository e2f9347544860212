"""Tests the server with its index on real Qdrant nodes: interfaces, two books, re-indexing, rolling back, moving."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, replace
from pathlib import Path
from threading import Event
from time import monotonic, sleep
from uuid import uuid4

import httpx
import pytest
from tests.server.server_process import run_server_process
from tests.server.test_index_routes import add_key

from bookbound import bootstrap
from bookbound.bootstrap.components import build_store
from bookbound.indexing.archive import export_index, import_index
from bookbound.server.api_keys import KeyKind
from bookbound.settings import Settings

PATHS = ("/ask", "/chat", "/api/v1/chat", "/api/query", "/v1/query", "/v1/answers")
NAMES = ("index", "source", "qdrant_url", "qdrant_collection", "qdrant_shards", "qdrant_replication_factor")


@pytest.fixture(params=["qdrant_node", pytest.param("qdrant_cluster", marks=pytest.mark.slow)])
def settings(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Settings]:
    """The settings of a server whose book is indexed, with another book next to it."""
    nodes = request.getfixturevalue(request.param)
    is_cluster = len(nodes.nodes) > 1
    (source := tmp_path / "book").mkdir()
    (source / "horn.md").write_text("# Horn\n\nThe brass horn sounds seven times every morning.\n")
    (other := tmp_path / "ants").mkdir()
    (other / "ants.md").write_text("# Ants\n\nAn ant has six legs and two antennae.\n")
    made = Settings(
        index=tmp_path / "index",
        source=str(source),
        qdrant_url=nodes.urls,
        qdrant_collection=f"test{uuid4().hex}",
        qdrant_shards=3 if is_cluster else 1,
        qdrant_replication_factor=2 if is_cluster else 1,
    )
    bootstrap.index_book(source, made)
    bootstrap.index_book(other, replace(made, book="ants", edition="2.0"))
    yield made
    nodes.clear()


def ask(client: httpx.Client, path: str, question: str) -> httpx.Response:
    return client.post(path, json={"query" if "query" in path else "question": question})


def test_the_server_answers_reindexes_and_rolls_back_on_qdrant(settings: Settings, tmp_path: Path) -> None:
    key = {"X-API-Key": add_key(settings, KeyKind.ADMIN)[1]}
    environment = {name: asdict(settings)[name] for name in NAMES}
    with run_server_process(environment, tmp_path / "output") as server:
        client = server.client
        for path in PATHS:
            reply = ask(client, path, "How many times does the brass horn sound every morning?")
            assert (reply.status_code, "seven times" in reply.text) == (200, True), path
        assert "six legs" in ask(client, "/books/ants@2.0/ask", "How many legs has an ant?").text
        assert client.get("/v1/books").status_code == 200

        stopped = Event()
        with ThreadPoolExecutor(1) as readers:
            statuses = readers.submit(ask_until, stopped, str(client.base_url))
            Path(settings.source or "", "gong.md").write_text("# Gong\n\nThe iron gong sounds twice at noon.\n")
            assert client.post("/v1/index/reindex", headers=key).status_code == 202
            wait_for_gong(client, "twice")
            stopped.set()
            assert set(statuses.result()) == {200}

        assert client.post("/v1/index/rollback", headers=key).status_code == 200
        (only,) = client.get("/v1/index", headers=key).json()["generations"]
        assert only["pages"] == 1


def ask_until(stopped: Event, address: str) -> list[int]:
    """Asks again and again, and returns the statuses."""
    statuses = []
    with httpx.Client(base_url=address, timeout=60) as client:
        while not stopped.is_set():
            statuses.append(ask(client, "/ask", "How many times does the brass horn sound?").status_code)
    return statuses


def wait_for_gong(client: httpx.Client, words: str) -> None:
    end = monotonic() + 300
    while words not in ask(client, "/ask", "How often does the iron gong sound at noon?").text:
        assert monotonic() < end, "the new edition is never served"
        sleep(0.5)


def test_an_index_moves_between_a_folder_and_qdrant(settings: Settings, tmp_path: Path) -> None:
    archive, folder = tmp_path / "book.bookbound", replace(settings, qdrant_url=None, index=tmp_path / "folder")
    elsewhere = replace(settings, qdrant_collection=f"{settings.qdrant_collection}-moved")

    async def move() -> list[str]:
        digests = []
        for source, target in ((settings, folder), (folder, elsewhere)):
            await export_index(build_store(source), archive, lambda *_: None)
            digests.append((await import_index(archive, build_store(target), lambda *_: None)).digest)
            archive.unlink()
        index = await build_store(elsewhere).open()
        digests.append(index.manifest.digest)
        await index.close()
        return digests

    assert len(set(asyncio.run(move()))) == 1
