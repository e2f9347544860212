"""Runs the application on a port, in one process or several."""

from __future__ import annotations

import errno
import socket
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, nullcontext
from functools import partial
from typing import Any

import uvicorn
from uvicorn.config import LOGGING_CONFIG

from bookbound.errors import BadSetup
from bookbound.serve.line import Line
from bookbound.serve.shutdown import FAREWELL, GRACE, Server
from bookbound.serve.workers import Workers
from bookbound.settings import Settings
from bookbound.watch.folder import shared
from bookbound.watch.lines import speak

BACKLOG = 512
APPLICATION = "bookbound.wire.serving:web"
LAST = 12.0
"""The seconds that a process may take to close what it opened and to write its log, when all else is over."""


def bound(host: str, port: int) -> socket.socket:
    """A socket that listens there; port 0 takes a free one."""
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        # Named as TCP: only then does the event loop send small replies at once instead of gathering them.
        with ExitStack() as held:
            taken = held.enter_context(socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP))
            taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            taken.bind((host, port))
            taken.listen(BACKLOG)  # from now on clients wait instead of being turned away
            held.pop_all()
    except (OSError, OverflowError, UnicodeError) as trouble:
        if isinstance(trouble, socket.gaierror) or getattr(trouble, "errno", None) == errno.EADDRNOTAVAIL:
            told = f"{host} is no address of this machine. For --host, name one that is, or 0.0.0.0 for all of them."
            raise BadSetup(told) from trouble
        raise BadSetup(f"Port {port} on {host} cannot be used. Choose another with --port or --host.") from trouble
    taken.set_inheritable(True)
    return taken


def address(taken: socket.socket) -> str:
    """Where a browser finds the socket."""
    host, port = taken.getsockname()[:2]
    return f"http://{f'[{host}]' if ':' in host else host}:{port}"


def serve(taken: socket.socket, workers: int, chosen: Settings, application: str = APPLICATION) -> None:
    """Serve until a signal ends it; what is being answered then is answered."""
    work = partial(_work, application, chosen.logging)
    if workers == 1:
        work(taken)
        return
    speak(chosen.logging)
    with shared() if chosen.metrics == "on" else nullcontext():
        Workers(work, taken, workers, GRACE + FAREWELL + LAST).run()


def _work(application: str, form: str, taken: socket.socket) -> None:
    """Serve in this process, which says what it has to say in lines of this form."""
    speak(form)
    Server(_config(application, logs=None)).run(sockets=[taken])


@contextmanager
def serving(taken: socket.socket) -> Iterator[None]:
    """Serve beside other work of this process, until that ends."""
    server = Server(_config(APPLICATION))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [taken]}, name="serve", daemon=True)
    thread.start()
    try:
        yield
    finally:
        server.should_exit = True
        thread.join()


def _config(application: str, logs: dict[str, Any] | None = LOGGING_CONFIG) -> uvicorn.Config:
    return uvicorn.Config(
        application,
        factory=True,
        http=Line,
        log_config=logs,
        log_level="warning",
        access_log=False,
        server_header=False,
        proxy_headers=False,  # whose word counts about an address is the gate's to say
        timeout_graceful_shutdown=int(GRACE + 2 * FAREWELL),  # by then all have been told and hung up on
    )
