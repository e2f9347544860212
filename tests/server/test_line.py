"""What comes before the body of a request, on a real line."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from contextlib import suppress
from http.client import HTTPConnection

import pytest
import uvicorn
from tests.server.inside import Inside, inside

from bookbound.server import uvicorn_server
from bookbound.server.app import create_app
from bookbound.server.uvicorn_server import HeadLimitProtocol
from bookbound.settings import Settings
from bookbound.testing import ScriptedBackend, make_refusal


@pytest.fixture
def running(monkeypatch: pytest.MonkeyPatch) -> Iterator[Inside]:
    monkeypatch.setattr(uvicorn_server, "HEAD_TIMEOUT_SECONDS", 0.5)
    made = uvicorn.Config
    monkeypatch.setattr(uvicorn, "Config", lambda app, **more: made(app, http=HeadLimitProtocol, **more))
    with inside(create_app(ScriptedBackend(make_refusal()), Settings(limits="off"))) as server:
        yield server


def hung_up(client: socket.socket) -> bool:
    """Whether the other side hangs up before a minute is over."""
    client.settimeout(60)
    try:
        return client.recv(1) == b""
    except ConnectionResetError:
        return True


def test_who_says_nothing_or_half_a_head_is_hung_up_on(running: Inside) -> None:
    for said in (b"", b"GET /health HTTP/1.1\r\nHost: x\r\n"):
        with socket.create_connection(running.place) as client:
            client.sendall(said)
            assert hung_up(client)


def test_a_head_without_end_is_hung_up_on(running: Inside) -> None:
    with socket.create_connection(running.place) as client:
        with suppress(BrokenPipeError, ConnectionResetError):
            client.sendall(b"GET / HTTP/1.1\r\nHost: x\r\n")
            for _ in range(1_000):
                client.sendall(b"X-More: " + b"x" * 65_536 + b"\r\n")
        assert hung_up(client)


def test_one_line_takes_one_request_after_another_whatever_their_size(running: Inside) -> None:
    client = HTTPConnection(*running.place, timeout=60)
    for words, status in (("Who?", 200), ("x" * 100_000, 400), ("Who?", 200)):
        client.request("POST", "/ask", json.dumps({"question": words}), {"Content-Type": "application/json"})
        reply = client.getresponse()
        assert reply.status == status
        reply.read()
    client.close()
