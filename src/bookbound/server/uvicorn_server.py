"""Runs the application on Uvicorn, limits its connections, and shuts down gracefully."""

from __future__ import annotations

import asyncio
import errno
import logging
import socket
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, nullcontext
from functools import partial
from multiprocessing import parent_process
from types import FrameType
from typing import Any

import uvicorn
from uvicorn.config import LOGGING_CONFIG
from uvicorn.importer import import_from_string

from bookbound.domain.errors import BookboundError, ConfigError
from bookbound.server.bounded_connection import BoundedConnection
from bookbound.server.network_process import share_networks
from bookbound.server.telemetry.log_format import configure_logging, describe_traceback
from bookbound.server.worker_processes import STARTUP_FAILURE_EXIT_CODE, WorkerProcesses, share_metrics_folder
from bookbound.settings import Settings

BACKLOG = 128
"""Connections that wait to be accepted, and also how many are accepted at once."""
RESERVED_FILES = 128
"""Files that a process may need besides its connections."""
CHECK_TICKS = 5
"""How many tenths of a second pass between two looks at the deadlines of the connections."""
# On Windows, SO_REUSEADDR would let two servers listen on one port.
if sys.platform == "win32":
    PORT_OPTION = socket.SO_EXCLUSIVEADDRUSE
else:
    PORT_OPTION = socket.SO_REUSEADDR
APP_FACTORY = "bookbound.bootstrap.web_app:create_web_app"
"""Builds the application from the settings; each worker imports it by name because imports run one way."""
MCP_APP_FACTORY = "bookbound.bootstrap.mcp_server:create_mcp_app"
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
    if sys.platform == "win32":  # which cannot pass a signal on, so running questions would be lost
        raise ConfigError("Windows has one worker process: leave out --workers.")
    configure_logging(settings.log_format)
    stop_seconds = GRACE_SECONDS + ABORT_SECONDS + CLEANUP_SECONDS
    with (
        share_metrics_folder() if settings.metrics == "on" else nullcontext(),
        share_networks(workers, settings) as keep_networks,
    ):
        WorkerProcesses(run_worker, listener, workers, stop_seconds, keep_networks).run()


def _run_worker(app_factory: str, settings: Settings, listener: socket.socket) -> None:
    configure_logging(settings.log_format)
    server = GracefulServer(_uvicorn_config(app_factory, settings, log_config=None))
    try:
        server.run(sockets=[listener])
    except Exception as error:
        if server.started:
            raise
        reason = str(error) if isinstance(error, BookboundError) else f"{type(error).__name__} in"
        log.error("the server cannot start: %s %s", reason, describe_traceback(error))
        sys.exit(STARTUP_FAILURE_EXIT_CODE)


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
        http=build_connection_class(settings),  # type: ignore[arg-type]
        ws="none",
        backlog=BACKLOG,
        log_config=log_config,
        log_level="warning",
        access_log=False,
        server_header=False,
        proxy_headers=False,  # the middleware finds the client's address
        # After our own deadline, at which clients still get an error.
        timeout_graceful_shutdown=int(GRACE_SECONDS + 2 * ABORT_SECONDS),
    )


def build_connection_class(settings: Settings) -> Callable[..., BoundedConnection]:
    """Makes the connections of a process, at most as many as it may open files."""
    files = _raise_file_limit(settings.max_connections + BACKLOG + RESERVED_FILES)
    allowed = max(1, min(settings.max_connections, files - BACKLOG - RESERVED_FILES))
    if allowed < settings.max_connections:
        log.warning("only %d connections fit the limit of %d open files; raise it (ulimit -n)", allowed, files)
    return partial(BoundedConnection, max_connections=allowed, max_body_bytes=settings.max_body_bytes)


def _raise_file_limit(wanted: int) -> int:
    """Returns how many files the process may open, after asking for as many as are wanted."""
    if sys.platform == "win32":
        return wanted  # Windows has no such limit
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < wanted:
        soft = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    return soft


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
        if counter % CHECK_TICKS == 0:
            now = asyncio.get_running_loop().time()
            for connection in list(self.server_state.connections):
                if isinstance(connection, BoundedConnection):
                    connection.close_if_overdue(now)
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
