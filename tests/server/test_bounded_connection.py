"""Tests with raw sockets that a client cannot make the server keep more than its limits, or wait longer."""

from __future__ import annotations

import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import pytest
from tests.server.thread_server import ThreadServer, run_in_thread

from bookbound.server import bounded_connection
from bookbound.server.app import create_app
from bookbound.settings import Settings
from bookbound.testing import ScriptedBackend, make_refusal

CHUNKED = b"POST /ask HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
QUESTION = b'{"question": "Who?"}'
HEALTH = b"GET /health HTTP/1.1\r\nHost: x\r\n\r\n"
SENT_BYTES = 24 << 20


@contextmanager
def run_server(**options: int) -> Iterator[ThreadServer]:
    settings = Settings(rate_limits="off", **options)  # type: ignore[arg-type]
    with run_in_thread(create_app(ScriptedBackend(make_refusal()), settings), settings) as server:
        yield server


def connect(server: ThreadServer) -> socket.socket:
    return socket.create_connection(server.address, timeout=60)


def send_until_closed(client: socket.socket, piece: bytes) -> int:
    """How many bytes a client could send before the server closed the connection."""
    sent = 0
    with suppress(BrokenPipeError, ConnectionResetError):
        while sent < SENT_BYTES:
            client.sendall(piece)
            sent += len(piece)
    return sent


def read_until_closed(client: socket.socket) -> bytes:
    """What the server sent before it closed the connection."""
    received = b""
    with suppress(ConnectionResetError):
        while piece := client.recv(1 << 16):
            received += piece
    return received


def wait_until_closed(server: ThreadServer) -> None:
    """Wait until the server has noticed that it closed its connections, which is after the client notices it."""
    for _ in range(600):
        if not server.server.server_state.connections:
            return
        time.sleep(0.05)
    raise AssertionError("a connection is still open")


def read_memory() -> int:
    """The resident memory of this process, which is also that of the server."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096


@pytest.mark.parametrize(
    ("start", "piece"),
    [
        (CHUNKED + b"0\r\n", b"X-Trailer: " + b"x" * 1000 + b"\r\n"),
        (CHUNKED + b"0\r\nX-Trailer: ", b"x" * 8000),
        (CHUNKED + b"0\r\n", b"a:\r\n" * 2000),
        (CHUNKED + b"1;", b"x" * 8000),
        (CHUNKED, b"1\r\n \r\n" * 1000),
        (b"GET /", b"x" * 8000),
        (b"GET / HTTP/1.1\r\n", b"a:\r\n" * 2000),
        (b"", b"\r\n" * 4000),
    ],
    ids=["trailers", "one trailer", "empty trailers", "extension", "tiny chunks", "path", "headers", "blank lines"],
)
def test_a_request_that_never_ends_is_not_kept(start: bytes, piece: bytes) -> None:
    with run_server() as server, connect(server) as client:
        before = read_memory()
        client.sendall(start)
        assert send_until_closed(client, piece) < SENT_BYTES
        read_until_closed(client)
        assert read_memory() - before < SENT_BYTES // 2


def test_trailers_of_a_request_are_read_and_ignored() -> None:
    with run_server() as server, connect(server) as client:
        client.sendall(CHUNKED + b"%x\r\n%b\r\n0\r\nX-Trailer: 1\r\n\r\n" % (len(QUESTION), QUESTION))
        assert client.recv(1 << 16).startswith(b"HTTP/1.1 200")


def test_a_request_with_too_many_headers_is_400() -> None:
    with run_server() as server, connect(server) as client:
        client.sendall(b"GET /health HTTP/1.1\r\nHost: x\r\n" + b"a: b\r\n" * bounded_connection.MAX_HEADERS + b"\r\n")
        assert client.recv(1 << 16).startswith(b"HTTP/1.1 400")


def test_few_requests_can_wait_on_one_connection() -> None:
    with run_server() as server:
        with connect(server) as client:
            client.sendall(HEALTH * 10)
            replies = b""
            while replies.count(b"alive") < 10:
                replies += client.recv(1 << 16)
        with connect(server) as client:
            client.sendall(HEALTH * 2000)
            assert read_until_closed(client).count(b"alive") <= bounded_connection.MAX_PIPELINED + 1


def test_a_full_server_closes_the_connection_that_waits_longest_for_its_client() -> None:
    with run_server(max_connections=8) as server, ExitStack() as stack:
        idle = [stack.enter_context(connect(server)) for _ in range(8)]
        for client in idle:
            client.sendall(b"GET /health HTTP/1.1\r\n")
        for _ in range(4):
            reader = stack.enter_context(connect(server))
            reader.sendall(HEALTH)
            assert reader.recv(1 << 16).startswith(b"HTTP/1.1 200")
            assert len(server.server.server_state.connections) <= 8
        assert read_until_closed(idle[0]) == b""


@pytest.mark.parametrize(
    "head",
    [
        b"GET /health HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n",
        b"POST /nothing HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n",
        b"POST /ask HTTP/1.1\r\nHost: x\r\nContent-Type: text/plain\r\nContent-Length: 1000\r\n\r\n",
        b"POST /ask HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n",
    ],
    ids=["GET", "404", "415", "read"],
)
def test_a_slow_body_is_ended_also_if_no_route_reads_it(monkeypatch: pytest.MonkeyPatch, head: bytes) -> None:
    monkeypatch.setattr(bounded_connection, "BODY_TIMEOUT_SECONDS", 1.0)
    with run_server() as server, connect(server) as client:
        client.sendall(head)
        with suppress(BrokenPipeError, ConnectionResetError):
            for _ in range(600):
                client.sendall(b"x")
                time.sleep(0.02)
                if not server.server.server_state.connections:
                    break
        wait_until_closed(server)


def test_a_body_that_no_route_reads_has_the_same_limit() -> None:
    with run_server() as server, connect(server) as client:
        client.sendall(b"GET /health HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n")
        assert send_until_closed(client, b"10000\r\n" + b"x" * 65536 + b"\r\n") < SENT_BYTES


def test_a_client_that_does_not_read_is_disconnected(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bounded_connection, "WRITE_TIMEOUT_SECONDS", 0.5)
    with run_server() as server, socket.socket() as client:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1024)
        client.settimeout(60)
        client.connect(server.address)
        client.sendall(b"GET /widget.js HTTP/1.1\r\nHost: x\r\n\r\n" * 10)
        with suppress(BrokenPipeError, ConnectionResetError):
            for _ in range(1000):
                client.sendall(b"GET /widget.js HTTP/1.1\r\nHost: x\r\n\r\n")
                time.sleep(0.02)
        wait_until_closed(server)
