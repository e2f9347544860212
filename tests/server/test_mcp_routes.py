"""MCP over streamable HTTP: the official client, keys, limits, bounds, and pages of other origins."""

from __future__ import annotations

import asyncio
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from starlette.testclient import TestClient
from tests.server.test_book_list import index_text
from tests.server.thread_server import run_in_thread

from bookbound.bootstrap.mcp_server import create_mcp_app
from bookbound.bootstrap.web_app import create_web_app
from bookbound.server import api_keys
from bookbound.server.api_keys import ANY_ORIGIN, ApiKey, KeyKind
from bookbound.settings import Settings

ACCEPT = {"Accept": "application/json, text/event-stream"}
LEGS = "How many legs has a robot?"


@pytest.fixture(scope="module")
def settings(tmp_path_factory: pytest.TempPathFactory) -> Settings:
    folder = tmp_path_factory.mktemp("books") / "index"
    index_text(folder, "An ant has six legs.", "ants")
    return replace(index_text(folder, "A robot has two legs."), query_log="off", rate_limits="off")


@contextmanager
def serve(settings: Settings) -> Iterator[httpx.Client]:
    with run_in_thread(create_mcp_app(settings)) as server, httpx.Client(base_url=server.url, timeout=60) as client:
        yield client


@pytest.fixture(scope="module")
def client(settings: Settings) -> Iterator[httpx.Client]:
    with serve(settings) as client:
        yield client


def call(
    client: httpx.Client, name: str, path: str = "/mcp", headers: dict[str, str] | None = None, **arguments: Any
) -> httpx.Response:
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": name, "arguments": arguments}}
    return client.post(path, json=message, headers=ACCEPT | (headers or {}))


def wait_for_outcome(client: httpx.Client, outcome: str) -> None:
    """Wait until the metrics count an outcome, which happens after its response was sent."""
    while f'contract="mcp",outcome="{outcome}"' not in client.get("/metrics").text:
        time.sleep(0.05)


async def ask(url: str, mode: str, headers: dict[str, str] | None = None, **arguments: Any) -> dict[str, Any]:
    """The structured result of the official client."""
    async with (
        httpx2.AsyncClient(headers=headers, timeout=60) as http,
        Client(streamable_http_client(url, http_client=http), mode=mode) as client,
    ):
        assert {tool.name for tool in (await client.list_tools()).tools} >= {"ask_book", "read_section"}
        resources = (await client.list_resources()).resources
        assert (await client.read_resource(resources[0].uri)).contents
        result = await client.call_tool("ask_book", {"question": LEGS} | arguments)
        content: dict[str, Any] = result.structured_content
        return content


@pytest.mark.parametrize("mode", ["legacy", "auto"])
def test_the_official_client_asks_over_http(client: httpx.Client, mode: str) -> None:
    reply = asyncio.run(ask(f"{client.base_url}/mcp", mode))
    assert (reply["status"], reply["text"]) == ("answered", "A robot has two legs.")


def test_the_path_of_a_book_chooses_it(client: httpx.Client) -> None:
    question = "How many legs has an ant?"
    assert "six" in asyncio.run(ask(f"{client.base_url}/books/ants/mcp", "auto", question=question))["text"]
    unknown = call(client, "ask_book", "/books/wasps/mcp", question=question).json()["result"]
    assert unknown["isError"]
    assert "Call list_books" in unknown["content"][0]["text"]


def test_a_key_is_required_if_the_server_requires_keys(settings: Settings, tmp_path: Path) -> None:
    settings = replace(settings, access_mode="keys", key_file=tmp_path / "keys.json")
    key, secret = ApiKey.new(KeyKind.PUBLISHABLE, "", [ANY_ORIGIN])
    api_keys.add_key(tmp_path / "keys.json", key)
    with serve(settings) as client:
        assert call(client, "list_books").status_code == 401
        reply = asyncio.run(ask(f"{client.base_url}/mcp", "auto", {"Authorization": f"Bearer {secret}"}))
        assert reply["status"] == "answered"


def test_only_questions_and_searches_count_against_the_rate_limit(settings: Settings) -> None:
    with serve(replace(settings, rate_limits="on", address_rate_limit="2/hour")) as client:
        for _ in range(3):
            assert not call(client, "list_books").json()["result"].get("isError")
        assert call(client, "ask_book", question=LEGS).headers["RateLimit-Remaining"] == "1"
        assert not call(client, "search_book", query="legs").json()["result"].get("isError")
        refused = call(client, "ask_book", question=LEGS).json()["result"]
        assert refused["isError"]
        assert "2 per hour are allowed. Try again in" in refused["content"][0]["text"]
        wait_for_outcome(client, "limited")


@pytest.mark.parametrize(
    ("headers", "advice"),
    [
        ({"Origin": "https://evil.example"}, "add its origin to `allowed_origins`"),
        ({"Origin": "null"}, "add its origin to `allowed_origins`"),
        ({"Origin": "http://evil.example:8000", "Host": "evil.example:8000"}, "add its origin to `allowed_origins`"),
        ({"Host": "evil.example:8000"}, "add the address of your site to `allowed_origins`"),
    ],
)
def test_a_page_of_another_site_or_under_a_rebound_name_is_rejected(
    client: httpx.Client, headers: dict[str, str], advice: str
) -> None:
    response = call(client, "list_books", headers=headers)
    assert response.status_code == 403
    assert advice in response.json()["error"]["message"]


def test_a_site_that_the_settings_allow_and_a_proxy_of_it_may_use_mcp(settings: Settings) -> None:
    with serve(replace(settings, allowed_origins=("https://book.example",))) as client:
        for headers in ({"Origin": "https://book.example"}, {"Host": "book.example"}, {"Host": "localhost:1"}):
            assert call(client, "list_books", headers=headers).status_code == 200


def test_the_bounds_of_other_routes_apply(client: httpx.Client, settings: Settings) -> None:
    assert client.get("/mcp").status_code == 405
    assert client.post("/mcp", content="x", headers={"Content-Type": "text/plain"}).status_code == 415
    large = call(client, "ask_book", question="x" * settings.max_body_bytes)
    assert large.status_code == 413
    assert large.json()["error"]["type"] == "too_large"


def test_a_message_that_is_no_json_is_rejected_by_the_protocol(client: httpx.Client) -> None:
    response = client.post("/mcp", content="{", headers=ACCEPT | {"Content-Type": "application/json"})
    assert response.status_code == 400
    assert response.json()["error"]["code"] == -32700


@pytest.mark.parametrize("message", ['"secret"', '["secret"]', '{"jsonrpc": "1.0", "id": 1, "method": "secret"}'])
def test_a_message_of_another_shape_is_rejected_without_its_words(client: httpx.Client, message: str) -> None:
    response = client.post("/mcp", content=message, headers=ACCEPT | {"Content-Type": "application/json"})
    assert response.status_code == 400
    assert response.json()["error"]["code"] == -32600
    assert "Send one JSON-RPC 2.0 message" in response.text
    assert "secret" not in response.text


def test_the_metrics_name_the_contract_and_the_outcome(client: httpx.Client) -> None:
    call(client, "ask_book", question=LEGS)
    wait_for_outcome(client, "answered")


def test_the_server_without_mcp_has_no_such_route(settings: Settings) -> None:
    assert TestClient(create_web_app(settings)).post("/mcp", json={}, headers=ACCEPT).status_code == 404


def test_the_command_serves_everything_and_mcp_and_logs_no_question(settings: Settings, tmp_path: Path) -> None:
    command = [sys.executable, "-u", "-m", "bookbound", "mcp", "--http", "--port", "0", "--workers", "2"]
    process = subprocess.Popen(
        [*command, "--index", str(settings.index)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=tmp_path,
    )
    try:
        assert process.stdout
        lines = [process.stdout.readline() for _ in range(4)]
        (url,) = re.findall(r"MCP: (http://127.0.0.1:\d+/mcp)\n", "".join(lines))
        assert asyncio.run(ask(url, "auto"))["status"] == "answered"
        assert httpx.get(url.replace("/mcp", "/v1/book"), timeout=60).status_code == 200
    finally:
        process.terminate()
        _, errors = process.communicate(timeout=60)
    assert process.returncode == 0
    assert "/mcp" in errors
    assert LEGS not in errors
