"""Tests the endpoint for votes with a real log of questions."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from fastapi import FastAPI
from starlette.testclient import TestClient
from tests.server.slow_server import SlowBackend

from bookbound.bootstrap.web_app import build_query_log, create_web_app, open_query_log
from bookbound.server.app import create_app
from bookbound.server.query_log.votes import VoteStore
from bookbound.server.rate_limit import MemoryLimiter
from bookbound.settings import Settings


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(index=tmp_path / "index", query_log_key="0123456789abcdef", address_rate_limit="20/hour")


@pytest.fixture
def app(settings: Settings) -> Iterator[FastAPI]:
    """An application whose questions are logged."""
    backend, votes = SlowBackend(settings.index.parent), VoteStore(open_query_log(settings), delay_seconds=0)
    (settings.index.parent / "go").touch()
    backend.query_log = build_query_log(settings)
    yield create_app(backend, settings, limiter=MemoryLimiter(), votes=votes)
    asyncio.run(backend.query_log.close())
    votes.close()


@pytest.fixture
def client(app: FastAPI) -> TestClient:
    return TestClient(app)


def ask(client: TestClient, **headers: str) -> str:
    """Ask a question and wait until it is logged; the ID of its request."""
    response = client.post("/v1/answers", json={"question": "Does it walk?"}, headers=headers)
    return str(response.json()["request_id"])


def vote(client: TestClient, request_id: str, choice: str = "up") -> Any:
    return client.post("/v1/votes", json={"request_id": request_id, "vote": choice})


def test_a_reply_can_be_voted_on_as_often_as_a_reader_likes(client: TestClient) -> None:
    request_id = ask(client)
    deadline = time.monotonic() + 30
    while vote(client, request_id).status_code == 404:
        assert time.monotonic() < deadline, "the question was not logged"
        time.sleep(2)  # the limit is 20 requests
    assert [vote(client, request_id, each).status_code for each in ("up", "down")] == [204, 204]


def test_an_unknown_reply_is_404_and_an_invalid_vote_is_422(client: TestClient) -> None:
    response = vote(client, "unknown")
    assert (response.status_code, response.json()["error"]["type"]) == (404, "not_found")
    assert vote(client, "unknown", "sideways").status_code == 422
    assert vote(client, "x" * 129).status_code == 422
    assert client.post("/v1/votes", json={"request_id": "r", "vote": "up", "comment": "x"}).status_code == 422


def test_votes_count_against_the_rate_limit(client: TestClient) -> None:
    statuses = [vote(client, "unknown").status_code for _ in range(21)]
    assert statuses == [404] * 20 + [429]


def test_a_server_without_a_log_takes_no_votes(settings: Settings, tmp_path: Path) -> None:
    without_log = Settings(index=tmp_path / "index", query_log="off")
    assert "/v1/votes" not in create_web_app(without_log).openapi()["paths"]
    assert "/v1/votes" in create_web_app(settings).openapi()["paths"]
