"""Tests that limits, keys, metrics and error bodies apply to the route that answers, however its path is spelt."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families
from tests.server.thread_server import ThreadServer, run_in_thread

from bookbound.server.app import create_app
from bookbound.server.rate_limit import MemoryLimiter
from bookbound.server.telemetry import QueueStats, Telemetry
from bookbound.server.telemetry.prometheus import PrometheusMetrics
from bookbound.settings import Settings
from bookbound.testing import ScriptedBackend, make_refusal

SPELLINGS = (
    "/ask%0A",
    "/ask%0a/",
    "/ask%0D%0A",
    "/ask%00",
    "/ask%20",
    "/ask//",
    "//ask",
    "/ASK",
    "/./ask",
    "/ask;x",
    "/ask%2F%2F",
)
"""Paths that look like `/ask` and are not."""


def send(server: ThreadServer, method: str, path: str, body: bytes = b"") -> tuple[int, bytes]:
    """The status and the body of the reply to a request whose path is sent as it is."""
    head = f"{method} {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Type: application/json\r\n"
    with socket.create_connection(server.address, timeout=60) as client:
        client.sendall(f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body)
        reply = b"".join(iter(lambda: client.recv(65536), b""))
    start, _, content = reply.partition(b"\r\n\r\n")
    return int(start.split()[1]), content


def ask(server: ThreadServer, path: str) -> int:
    return send(server, "POST", path, b'{"question": "Who?"}')[0]


def test_another_spelling_of_a_path_is_404_and_reaches_no_book() -> None:
    backend = ScriptedBackend(make_refusal())
    with run_in_thread(create_app(backend, Settings(), limiter=MemoryLimiter())) as server:
        assert {path: ask(server, path) for path in SPELLINGS} == dict.fromkeys(SPELLINGS, 404)
        assert not backend.questions
        for path in ("/health%0A", "/v1/book%0A", "/read/a.md%0A", "/openapi.json%0A", "/books/robots/ask%0A"):
            assert send(server, "GET", path)[0] == 404, path


@pytest.mark.parametrize("path", ["/ask", "/ask/", "/%61sk", "/books/robots/ask"])
def test_every_spelling_that_is_answered_counts_against_the_limit(path: str) -> None:
    app = create_app(ScriptedBackend(make_refusal()), Settings(address_rate_limit="2/minute"), limiter=MemoryLimiter())
    with run_in_thread(app) as server:
        assert [ask(server, path) for _ in range(4)] == [200, 200, 429, 429]


@pytest.mark.parametrize("path", ["/health%0A", "/metrics%0A", "/v1/book%0A", "/ask%0A"])
def test_no_spelling_of_a_path_avoids_the_key(tmp_path: Path, path: str) -> None:
    settings = Settings(access_mode="keys", key_file=tmp_path / "keys.json")
    with run_in_thread(create_app(ScriptedBackend(make_refusal()), settings)) as server:
        assert send(server, "GET", path)[0] == 401


def test_metrics_name_the_route_also_of_a_request_that_no_route_handled(tmp_path: Path) -> None:
    metrics = PrometheusMetrics(QueueStats)
    telemetry = Telemetry((metrics.record,), metrics)
    settings = Settings(access_mode="keys", key_file=tmp_path / "keys.json")
    with run_in_thread(create_app(ScriptedBackend(make_refusal()), settings, telemetry=telemetry)) as server:
        for path in ("/books/robots/ask", "/ask/", "/ask%0A"):
            assert ask(server, path) == 401
        page = send(server, "GET", "/metrics")[1].decode()
    families = {family.name: family for family in text_string_to_metric_families(page)}
    counts = {
        sample.labels["contract"]: sample.value
        for sample in families["bookbound_request_seconds"].samples
        if sample.name.endswith("_count")
    }
    assert counts == {"ask": 2, "other": 1}
