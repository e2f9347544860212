"""Tests the limits of request heads on real connections, and that workers get their settings as a value."""

from __future__ import annotations

import json
import re
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from http.client import HTTPConnection
from pathlib import Path

import httpx
import pytest
from tests.server.thread_server import ThreadServer, run_in_thread

from bookbound.server import bounded_connection
from bookbound.server.app import create_app
from bookbound.settings import Settings
from bookbound.testing import ScriptedBackend, make_refusal


@pytest.fixture
def running(monkeypatch: pytest.MonkeyPatch) -> Iterator[ThreadServer]:
    monkeypatch.setattr(bounded_connection, "HEAD_TIMEOUT_SECONDS", 0.5)
    with run_in_thread(create_app(ScriptedBackend(make_refusal()), Settings(rate_limits="off"))) as server:
        yield server


def is_closed_by_server(client: socket.socket) -> bool:
    client.settimeout(60)
    try:
        return client.recv(1) == b""
    except ConnectionResetError:
        return True


def test_a_connection_without_a_complete_head_is_closed(running: ThreadServer) -> None:
    for sent in (b"", b"GET /health HTTP/1.1\r\nHost: x\r\n"):
        with socket.create_connection(running.address) as client:
            client.sendall(sent)
            assert is_closed_by_server(client)


def test_a_connection_with_an_endless_head_is_closed(running: ThreadServer) -> None:
    with socket.create_connection(running.address) as client:
        with suppress(BrokenPipeError, ConnectionResetError):
            client.sendall(b"GET / HTTP/1.1\r\nHost: x\r\n")
            for _ in range(1_000):
                client.sendall(b"X-More: " + b"x" * 65_536 + b"\r\n")
        assert is_closed_by_server(client)


def test_one_connection_serves_many_requests_of_any_size(running: ThreadServer) -> None:
    client = HTTPConnection(*running.address, timeout=60)
    for words, status in (("Who?", 200), ("x" * 100_000, 400), ("Who?", 200)):
        client.request("POST", "/ask", json.dumps({"question": words}), {"Content-Type": "application/json"})
        reply = client.getresponse()
        assert reply.status == status
        reply.read()
    client.close()


@pytest.mark.slow
@pytest.mark.parametrize("workers", ["1", "2"])
def test_an_index_on_the_command_line_wins_over_a_qdrant_server_in_the_settings_file(
    example_index: Path, tmp_path: Path, workers: str
) -> None:
    (tmp_path / "bookbound.toml").write_text('qdrant_url = "http://127.0.0.1:9"\nreader = "fast"\n')
    command = [sys.executable, "-u", "-m", "bookbound", "serve", "--index", str(example_index)]
    process = subprocess.Popen(
        [*command, "--port", "0", "--workers", workers], stdout=subprocess.PIPE, text=True, cwd=tmp_path
    )
    try:
        assert process.stdout is not None
        url = re.search(r"http://[\d.]+:\d+", process.stdout.readline())
        assert url
        ready = httpx.get(f"{url[0]}/health/ready", timeout=60)
        assert (ready.status_code, ready.json()["status"]) == (200, "ready")
    finally:
        process.terminate()
        process.communicate(timeout=60)


@pytest.mark.parametrize("workers", [1, 2])
def test_a_server_that_cannot_start_says_why_in_one_line(workers: int) -> None:
    code = (
        "from bookbound.server import uvicorn_server as server; from bookbound.settings import Settings\n"
        f"server.serve(server.bind_socket('127.0.0.1', 0), {workers}, Settings(metrics='off'), 'http:HTTPStatus')"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode != 0
    assert "the server cannot start: ValueError in" in done.stderr
    assert workers > 1 or "Traceback" not in done.stderr
