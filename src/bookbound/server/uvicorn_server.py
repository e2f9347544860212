"""Runs the application on Uvicorn, limits request heads, and shuts down gracefully."""

from __future__ import annotations

import asyncio
import errno
import logging
import socket
import threading
from asyncio import TimerHandle, Transport
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, nullcontext
from functools import partial
from multiprocessing import parent_process
from types import FrameType
from typing import Any

import uvicorn
from uvicorn.config import LOGGING_CONFIG
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from bookbound.domain.errors import ConfigError
from bookbound.server.telemetry.log_format import configure_logging
from bookbound.server.worker_processes import WorkerProcesses, share_metrics_folder
from bookbound.settings import Settings

MAX_HEAD_BYTES = 1 << 16
HEAD_TIMEOUT_SECONDS = 10.0


class HeadLimitProtocol(HttpToolsProtocol):
    """Hangs up on who sends no whole head of a request within `HEAD_SECONDS` and `HEAD_BYTES`."""

    def __init__(self, *args: Any, **more: Any) -> None:
        super().__init__(*args, **more)
        self._head = 0
        self._waiting: TimerHandle | None = None

    def connection_made(self, transport: Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._wait()

    def connection_lost(self, exc: Exception | None) -> None:
        self._done()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if self._waiting is None and self._head == 0:
            self._wait()
        self._head += len(data)
        super().data_received(data)
        if self._waiting is not None and self._head > MAX_HEAD_BYTES:
            self._hang_up()

    def on_headers_complete(self) -> None:
        self._done()
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        self._head = 0
        super().on_message_complete()

    def _wait(self) -> None:
        self._waiting = self.loop.call_later(HEAD_TIMEOUT_SECONDS, self._hang_up)

    def _done(self) -> None:
        if self._waiting is not None:
            self._waiting.cancel()
            self._waiting = None

    def _hang_up(self) -> None:
        self._done()
        if not self.transport.is_closing():
            self.transport.close()


BACKLOG = 512
APP_FACTORY = "bookbound.bootstrap.web_app:web"
CLEANUP_SECONDS = 12.0
"""The seconds that a process may take to close what it opened and to write its log, when all else is over."""


def bind_socket(host: str, port: int) -> socket.socket:
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
            raise ConfigError(told) from trouble
        raise ConfigError(f"Port {port} on {host} cannot be used. Choose another with --port or --host.") from trouble
    taken.set_inheritable(True)
    return taken


def socket_url(taken: socket.socket) -> str:
    """Where a browser finds the socket."""
    host, port = taken.getsockname()[:2]
    return f"http://{f'[{host}]' if ':' in host else host}:{port}"


def serve(taken: socket.socket, workers: int, chosen: Settings, application: str = APP_FACTORY) -> None:
    """Serve until a signal ends it; what is being answered then is answered."""
    work = partial(_run_worker, application, chosen.logging)
    if workers == 1:
        work(taken)
        return
    configure_logging(chosen.logging)
    with share_metrics_folder() if chosen.metrics == "on" else nullcontext():
        WorkerProcesses(work, taken, workers, GRACE_SECONDS + ABORT_SECONDS + CLEANUP_SECONDS).run()


def _run_worker(application: str, form: str, taken: socket.socket) -> None:
    """Serve in this process, which says what it has to say in lines of this form."""
    configure_logging(form)
    GracefulServer(_uvicorn_config(application, logs=None)).run(sockets=[taken])


@contextmanager
def serve_in_thread(taken: socket.socket) -> Iterator[None]:
    """Serve beside other work of this process, until that ends."""
    server = GracefulServer(_uvicorn_config(APP_FACTORY))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [taken]}, name="serve", daemon=True)
    thread.start()
    try:
        yield
    finally:
        server.should_exit = True
        thread.join()


def _uvicorn_config(application: str, logs: dict[str, Any] | None = LOGGING_CONFIG) -> uvicorn.Config:
    return uvicorn.Config(
        application,
        factory=True,
        http=HeadLimitProtocol,
        log_config=logs,
        log_level="warning",
        access_log=False,
        server_header=False,
        proxy_headers=False,  # whose word counts about an address is the gate's to say
        timeout_graceful_shutdown=int(GRACE_SECONDS + 2 * ABORT_SECONDS),  # by then all have been told and hung up on
    )


GRACE_SECONDS = 30.0
"""The seconds that what is being answered has to come to its end."""
ABORT_SECONDS = 2.0
"""The seconds that whoever is cut short has to take the word of it."""
log = logging.getLogger("bookbound.server")


class GracefulServer(uvicorn.Server):
    """After a first signal no question is taken; a second cuts short what is being answered, and nothing else.

    One of several processes ends, just so, where the process that started it is gone.
    """

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self._loop: asyncio.AbstractEventLoop | None = None
        self._parent = parent_process()

    async def serve(self, sockets: list[socket.socket] | None = None) -> None:
        self._loop = asyncio.get_running_loop()
        await super().serve(sockets)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Hear a signal; it is not raised again afterwards, as an end in good order is no failure."""
        if self.should_exit and self._loop:
            self._loop.call_soon_threadsafe(self._cut_short)
        self.should_exit = True
        if hasattr(self, "lifespan"):
            self.lifespan.state["stopping"] = True  # each request from now on has this in its state

    async def on_tick(self, counter: int) -> bool:
        orphaned = self._parent is not None and not self._parent.is_alive()
        return await super().on_tick(counter) or orphaned

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        log.info("stopping: what is being answered has %g seconds, and no new question is taken", GRACE_SECONDS)
        late = asyncio.get_running_loop().call_later(GRACE_SECONDS, self._cut_short)
        try:
            await super().shutdown(sockets)
        finally:
            late.cancel()

    def _cut_short(self) -> None:
        if tasks := list(self.server_state.tasks):
            log.warning("stopping at once: requests that are cut short: %d", len(tasks))
        for task in tasks:
            task.cancel()
        asyncio.get_running_loop().call_later(ABORT_SECONDS, self._hang_up)

    def _hang_up(self) -> None:
        for connection in list(self.server_state.connections):
            connection.transport.abort()
