"""Tests re-indexing from a running server, in a process of its own."""

from __future__ import annotations

import asyncio
import signal
import time
from asyncio.subprocess import Process
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient
from tests.server.test_index_routes import add_key, make_client

from bookbound import bootstrap, filesystem
from bookbound.domain.book_ref import BookRef
from bookbound.domain.errors import ConfigError
from bookbound.server.api_keys import KeyKind
from bookbound.server.query_log import log_folder
from bookbound.server.reindexing import LOCK_FILE_NAME, STATUS_FILE_NAME, Reindexing, ReindexState, ReindexStatus
from bookbound.settings import Settings

REINDEX = "/v1/index/reindex"


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    """The settings of a server that knows the source of its book, which is indexed."""
    (source := tmp_path / "book").mkdir()
    (source / "horn.md").write_text("# Horn\n\nThe horn sounds once.\n")
    settings = Settings(index=tmp_path / "index", rate_limits="off", source=str(source))
    bootstrap.index_book(source, settings)
    return settings


@pytest.fixture
def client(settings: Settings) -> Iterator[TestClient]:
    with make_client(settings) as client:
        client.headers["X-API-Key"] = add_key(settings, KeyKind.ADMIN)[1]
        yield client


def wait_for_end(client: TestClient, path: str = REINDEX) -> Any:
    deadline = time.monotonic() + 120
    while (status := client.get(path).json())["state"] == "running":
        assert time.monotonic() < deadline, "indexing did not end"
        time.sleep(0.1)
    return status


@contextmanager
def hold_lock(folder: Path) -> Iterator[None]:
    """What the process of another worker does while it indexes."""
    ReindexStatus(state=ReindexState.RUNNING, stage="embed", done=3, total=7).write(folder / STATUS_FILE_NAME)
    with (folder / LOCK_FILE_NAME).open("w") as file:
        assert filesystem.try_lock(file.fileno())
        yield


def count_generations(client: TestClient) -> int:
    return len(client.get("/v1/index").json()["generations"])


def test_a_changed_book_is_published_and_an_unchanged_one_is_not(client: TestClient, settings: Settings) -> None:
    assert client.get(REINDEX).json() == {
        **ReindexStatus().model_dump(mode="json"),
        "source": settings.source,
    }
    Path(settings.source or "", "gong.md").write_text("# Gong\n\nThe gong sounds twice.\n")
    started = client.post(REINDEX)
    assert (started.status_code, started.json()["state"]) == (202, "running")
    ended = wait_for_end(client)
    assert (ended["state"], ended["message"]) == ("published", "")
    assert ended["changes"] == {"added": 1, "changed": 0, "renamed": 0, "removed": 0}
    newest, _ = client.get("/v1/index").json()["generations"]
    assert (newest["id"], newest["pages"]) == (ended["generation"], 2)
    assert client.post(REINDEX).status_code == 202
    assert wait_for_end(client)["state"] == "unchanged"
    assert count_generations(client) == 2


def test_a_failure_says_why_and_leaves_the_index_as_it_was(client: TestClient, settings: Settings) -> None:
    before = client.get("/v1/index").json()
    (Path(settings.source or "") / "horn.md").unlink()
    assert client.post(REINDEX).status_code == 202
    ended = wait_for_end(client)
    assert ended["state"] == "failed"
    assert "The folder is empty" in ended["message"]
    assert client.get("/v1/index").json() == before


def test_only_one_process_changes_the_index_at_a_time(client: TestClient, settings: Settings) -> None:
    with hold_lock(log_folder(settings.index)):
        running = client.get(REINDEX).json()
        assert (running["state"], running["stage"], running["done"], running["total"]) == ("running", "embed", 3, 7)
        for path in (REINDEX, "/v1/index/rollback"):
            response = client.post(path)
            assert (response.status_code, response.json()["error"]["type"]) == (409, "conflict")
            assert "Wait until" in response.json()["error"]["message"]
    interrupted = client.get(REINDEX).json()
    assert (interrupted["state"], "Start it again" in interrupted["message"]) == ("failed", True)


def test_another_book_is_idle_and_can_be_rolled_back_meanwhile(client: TestClient, settings: Settings) -> None:
    for text in ("once", "twice"):
        (Path(settings.source or "") / "horn.md").write_text(f"# Horn\n\nThe horn sounds {text}.\n")
        bootstrap.index_book(Path(settings.source or ""), settings.with_book(BookRef("other", "1.0")))
    with hold_lock(log_folder(settings.index)):
        assert client.get(REINDEX).json()["state"] == "running"
        assert client.get(f"/books/other{REINDEX}").json()["state"] == "idle"
        assert client.post("/books/other/v1/index/rollback").status_code == 200


def test_the_result_of_another_book_is_not_shown(client: TestClient, settings: Settings) -> None:
    ReindexStatus(state=ReindexState.FAILED, book="other@1.0", message="It is gone.").write(
        log_folder(settings.index) / STATUS_FILE_NAME
    )
    shown = client.get(REINDEX).json()
    assert (shown["state"], shown["book"], shown["message"]) == ("idle", "", "")


@pytest.mark.parametrize("source", ["https://me:secret@book.example/", "https://", "http://[::1/"])
def test_a_source_that_cannot_be_indexed_stops_the_server_before_it_starts(settings: Settings, source: str) -> None:
    with pytest.raises(ConfigError, match="`source`") as caught:
        bootstrap.check_server_services(replace(settings, source=source))
    assert "secret" not in str(caught.value)
    bootstrap.check_server_services(replace(settings, source="https://book.example/"))


def test_without_a_known_source_it_says_how_to_set_one(settings: Settings) -> None:
    bootstrap.index_book(Path(settings.source or ""), settings.with_book(BookRef("other", "1.0")))
    secret = add_key(settings, KeyKind.ADMIN)[1]
    for known, path in ((replace(settings, source=None), REINDEX), (settings, f"/books/other{REINDEX}")):
        client = make_client(known)
        client.headers["X-API-Key"] = secret
        assert client.get(path).json()["source"] is None
        response = client.post(path)
        assert (response.status_code, "`source`" in response.json()["error"]["message"]) == (409, True)


def test_a_stopping_server_ends_the_process_and_a_kill_is_noticed(tmp_path: Path) -> None:
    started: list[Process] = []

    async def find_source(book: BookRef | None) -> str:
        return "book"

    async def start(lock: int, status_file: Path) -> Process:
        started.append(await asyncio.create_subprocess_exec("sleep", "600", pass_fds=(lock,)))
        return started[-1]

    async def go() -> None:
        reindexing = Reindexing(tmp_path, BookRef(""), find_source, start)
        assert (await reindexing.begin(None)).state is ReindexState.RUNNING
        assert reindexing.status().state is ReindexState.RUNNING
        started[0].kill()
        await started[0].wait()
        assert reindexing.status().state is ReindexState.FAILED
        await reindexing.begin(None)
        await reindexing.close()
        assert started[1].returncode == -signal.SIGKILL
        assert reindexing.status().state is ReindexState.FAILED

    asyncio.run(go())


def test_a_folder_that_cannot_be_written_is_named(settings: Settings) -> None:
    reindexing_folder = log_folder(settings.index)
    secret = add_key(settings, KeyKind.ADMIN)[1]
    (reindexing_folder / LOCK_FILE_NAME).mkdir()
    client = make_client(settings)
    response = client.post(REINDEX, headers={"X-API-Key": secret})
    assert response.status_code == 503
    assert str(reindexing_folder) in response.json()["error"]["message"]
