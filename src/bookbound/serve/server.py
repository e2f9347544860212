"""Runs the application on a port, in one process or several."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import uvicorn
from uvicorn.supervisors import Multiprocess

from bookbound.errors import BadSetup

BACKLOG = 512
APPLICATION = "bookbound.wire:web"


def bound(host: str, port: int) -> socket.socket:
    """A socket that listens there; port 0 takes a free one."""
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        # Named as TCP: only then does the event loop send small replies at once instead of gathering them.
        taken = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
        taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        taken.bind((host, port))
        taken.listen(BACKLOG)  # from now on clients wait instead of being turned away
    except (OSError, OverflowError) as trouble:
        raise BadSetup(f"Port {port} on {host} cannot be used. Choose another with --port or --host.") from trouble
    taken.set_inheritable(True)
    return taken


def address(taken: socket.socket) -> str:
    """Where a browser finds the socket."""
    host, port = taken.getsockname()[:2]
    return f"http://{f'[{host}]' if ':' in host else host}:{port}"


def serve(taken: socket.socket, workers: int) -> None:
    """Serve until a signal ends it; what is being answered then is answered."""
    config = _config(workers)
    if workers == 1:
        uvicorn.Server(config).run(sockets=[taken])
    else:
        Multiprocess(config, sockets=[taken]).run()


@contextmanager
def serving(taken: socket.socket) -> Iterator[None]:
    """Serve beside other work of this process, until that ends."""
    server = uvicorn.Server(_config(workers=1))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [taken]}, name="serve", daemon=True)
    thread.start()
    try:
        yield
    finally:
        server.should_exit = True
        thread.join()


def _config(workers: int) -> uvicorn.Config:
    return uvicorn.Config(
        APPLICATION,
        factory=True,
        workers=workers,
        log_level="warning",
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=30,
    )
