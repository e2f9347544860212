"""Runs the application on Uvicorn, limits request heads, and shuts down gracefully."""

from __future__ import annotations

import asyncio
import errno
import logging
import socket
import sys
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
from uvicorn.importer import import_from_string
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from bookbound.domain.errors import ConfigError
from bookbound.server.telemetry.log_format import configure_logging
from bookbound.server.worker_processes import WorkerProcesses, share_metrics_folder
from bookbound.settings import Settings

MAX_HEAD_BYTES = 1 << 16
HEAD_TIMEOUT_SECONDS = 10.0


class HeadLimitProtocol(HttpToolsProtocol):
    """Closes a connection whose request head does not arrive in time or is too large."""

    def __init__(self, *args: Any, **more: Any) -> None:
        super().__init__(*args, **more)
        self._head_bytes = 0
        self._timer: TimerHandle | None = None

    def connection_made(self, transport: Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._start_timer()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_timer()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if self._timer is None and self._head_bytes == 0:
            self._start_timer()
        self._head_bytes += len(data)
        super().data_received(data)
        if self._timer is not None and self._head_bytes > MAX_HEAD_BYTES:
            self._close_connection()

    def on_headers_complete(self) -> None:
        self._stop_timer()
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        self._head_bytes = 0
        super().on_message_complete()

    def _start_timer(self) -> None:
        self._timer = self.loop.call_later(HEAD_TIMEOUT_SECONDS, self._close_connection)

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _close_connection(self) -> None:
        self._stop_timer()
        if not self.transport.is_closing():
            self.transport.close()


BACKLOG = 512
# On Windows, SO_REUSEADDR would let two servers listen on one port.
if sys.platform == "win32":
    PORT_OPTION = socket.SO_EXCLUSIVEADDRUSE
else:
    PORT_OPTION = socket.SO_REUSEADDR
APP_FACTORY = "bookbound.bootstrap.web_app:create_web_app"
"""Builds the application from the settings; each worker imports it by name because imports run one way."""
GRACE_SECONDS = 30.0
"""The time that running questions have after a signal to stop."""
ABORT_SECONDS = 2.0
"""The time that interrupted clients have to receive the error."""
CLEANUP_SECONDS = 12.0
"""The time that a process has to close what it opened and to write its query log."""
log = logging.getLogger("bookbound.server")


def bind_socket(host: str, port: int) -> socket.socket:
    """A listening socket; port 0 takes a free port."""
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        # With IPPROTO_TCP the event loop sends small replies at once.
        with ExitStack() as stack:
            listener = stack.enter_context(socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP))
            listener.setsockopt(socket.SOL_SOCKET, PORT_OPTION, 1)
            listener.bind((host, port))
            listener.listen(BACKLOG)  # from now on clients wait instead of being refused
            stack.pop_all()
    except (OSError, OverflowError, UnicodeError) as error:
        if isinstance(error, socket.gaierror) or getattr(error, "errno", None) == errno.EADDRNOTAVAIL:
            message = f"{host} is not an address of this machine. For --host, use one that is, or 0.0.0.0 for all."
            raise ConfigError(message) from error
        raise ConfigError(f"Port {port} on {host} cannot be used. Choose another with --port or --host.") from error
    listener.set_inheritable(True)
    return listener


def socket_url(listener: socket.socket) -> str:
    host, port = listener.getsockname()[:2]
    return f"http://{f'[{host}]' if ':' in host else host}:{port}"


def serve(listener: socket.socket, workers: int, settings: Settings, app_factory: str = APP_FACTORY) -> None:
    """Serve until a signal stops it; running questions are still answered."""
    run_worker = partial(_run_worker, app_factory, settings)
    if workers == 1:
        run_worker(listener)
        return
    configure_logging(settings.log_format)
    with share_metrics_folder() if settings.metrics == "on" else nullcontext():
        WorkerProcesses(run_worker, listener, workers, GRACE_SECONDS + ABORT_SECONDS + CLEANUP_SECONDS).run()


def _run_worker(app_factory: str, settings: Settings, listener: socket.socket) -> None:
    configure_logging(settings.log_format)
    GracefulServer(_uvicorn_config(app_factory, settings, log_config=None)).run(sockets=[listener])


@contextmanager
def serve_in_thread(listener: socket.socket, settings: Settings) -> Iterator[None]:
    """Serve in a thread of this process until the block ends."""
    server = GracefulServer(_uvicorn_config(APP_FACTORY, settings))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, name="serve", daemon=True)
    thread.start()
    try:
        yield
    finally:
        server.should_exit = True
        thread.join()


def _uvicorn_config(
    app_factory: str, settings: Settings, log_config: dict[str, Any] | None = LOGGING_CONFIG
) -> uvicorn.Config:
    return uvicorn.Config(
        lambda: import_from_string(app_factory)(settings),
        factory=True,
        http=HeadLimitProtocol,
        log_config=log_config,
        log_level="warning",
        access_log=False,
        server_header=False,
        proxy_headers=False,  # the middleware finds the client's address
        timeout_graceful_shutdown=int(GRACE_SECONDS + 2 * ABORT_SECONDS),
    )


class GracefulServer(uvicorn.Server):
    """Stops accepting questions after a first signal, and interrupts the running ones after a second.

    A worker also stops if its parent process is gone.
    """

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self._loop: asyncio.AbstractEventLoop | None = None
        self._parent = parent_process()

    async def serve(self, sockets: list[socket.socket] | None = None) -> None:
        self._loop = asyncio.get_running_loop()
        await super().serve(sockets)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Handle a signal without raising it again, because a graceful stop is not a failure."""
        if self.should_exit and self._loop:
            self._loop.call_soon_threadsafe(self._interrupt)
        self.should_exit = True
        if hasattr(self, "lifespan"):
            self.lifespan.state["stopping"] = True  # every later request has this in its state

    async def on_tick(self, counter: int) -> bool:
        is_orphan = self._parent is not None and not self._parent.is_alive()
        return await super().on_tick(counter) or is_orphan

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        log.info("stopping: running questions have %g seconds, and new ones are rejected", GRACE_SECONDS)
        timer = asyncio.get_running_loop().call_later(GRACE_SECONDS, self._interrupt)
        try:
            await super().shutdown(sockets)
        finally:
            timer.cancel()

    def _interrupt(self) -> None:
        if tasks := list(self.server_state.tasks):
            log.warning("stopping at once: %d requests are interrupted", len(tasks))
        for task in tasks:
            task.cancel()
        asyncio.get_running_loop().call_later(ABORT_SECONDS, self._close_connections)

    def _close_connections(self) -> None:
        for connection in list(self.server_state.connections):
            connection.transport.abort()
