"""Runs the real server on a real port in a thread of the test, with any backend."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import uvicorn
from fastapi import FastAPI

from bookbound.server import uvicorn_server
from bookbound.server.uvicorn_server import GracefulServer
from bookbound.settings import Settings


@dataclass(frozen=True)
class ThreadServer:
    """A running server, its URL and its thread."""

    server: GracefulServer
    url: str
    thread: threading.Thread

    @property
    def address(self) -> tuple[str, int]:
        host, _, port = self.url.removeprefix("http://").partition(":")
        return host, int(port)


@contextmanager
def run_in_thread(app: FastAPI, settings: Settings | None = None) -> Iterator[ThreadServer]:
    listener = uvicorn_server.bind_socket("127.0.0.1", 0)
    connection_class = uvicorn_server.build_connection_class(settings or Settings())
    config = uvicorn.Config(app, http=connection_class, log_level="warning", access_log=False)  # type: ignore[arg-type]
    server = GracefulServer(config)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
    thread.start()
    try:
        yield ThreadServer(server, uvicorn_server.socket_url(listener), thread)
    finally:
        server.should_exit = True
        thread.join(30)
        assert not thread.is_alive()
