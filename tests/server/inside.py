"""The real server on a real port, in a thread of the test, over whatever desk the test gives it."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import uvicorn
from fastapi import FastAPI

from bookbound.server import uvicorn_server
from bookbound.server.uvicorn_server import GracefulServer


@dataclass(frozen=True)
class Inside:
    """A server that runs, where it is, and the thread that it runs in."""

    server: GracefulServer
    address: str
    thread: threading.Thread

    @property
    def place(self) -> tuple[str, int]:
        host, _, port = self.address.removeprefix("http://").partition(":")
        return host, int(port)


@contextmanager
def inside(app: FastAPI) -> Iterator[Inside]:
    """Serves an application while this lasts."""
    taken = uvicorn_server.bind_socket("127.0.0.1", 0)
    serving = GracefulServer(uvicorn.Config(app, log_level="warning", access_log=False))
    thread = threading.Thread(target=serving.run, kwargs={"sockets": [taken]}, daemon=True)
    address = uvicorn_server.socket_url(taken)
    thread.start()
    try:
        yield Inside(serving, address, thread)
    finally:
        serving.should_exit = True
        thread.join(30)
        assert not thread.is_alive()
