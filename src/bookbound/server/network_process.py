"""Runs the networks in one process for all workers.

`python -m bookbound.server.network_process PARENT WORKERS THREADS LOG-FORMAT` gets the listening socket as standard
input. It ends when its parent and all clients are gone."""

from __future__ import annotations

import logging
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from multiprocessing.connection import Connection
from pathlib import Path
from select import select
from tempfile import TemporaryDirectory, gettempdir
from time import monotonic

from bookbound.domain.errors import BookboundError, ConfigError
from bookbound.models.networks import MAX_REQUEST_BYTES, SOCKET_VARIABLE, ReadingRequest, encode_outputs
from bookbound.models.onnx import ModelRuntime, Network
from bookbound.server.telemetry.log_format import configure_logging, describe_traceback
from bookbound.server.worker_processes import MIN_RESTART_SECONDS
from bookbound.settings import Settings

PARENT_CHECK_SECONDS = 1.0
log = logging.getLogger("bookbound.server")


class NetworkProcess:
    """The process of the networks, seen by its supervisor, which keeps the socket: clients wait while it restarts."""

    def __init__(self, listener: socket.socket, workers: int, settings: Settings) -> None:
        self._listener = listener
        arguments = os.getpid(), workers, settings.model_threads, settings.log_format
        self._command = [sys.executable, "-P", "-m", __name__, *map(str, arguments)]
        self._process = self._start()

    def ensure_running(self) -> None:
        """Start the process again if it died, at most once in a while."""
        code = self._process.poll()
        if code is not None and monotonic() >= self._started + MIN_RESTART_SECONDS:
            log.error("the process of the networks died (%d) and is started again", code)
            try:
                self._process = self._start()
            except OSError as error:
                log.error("the process of the networks cannot be started: %s", error.strerror or type(error).__name__)

    def kill(self) -> None:
        self._process.kill()
        self._process.wait()

    def _start(self) -> subprocess.Popen[bytes]:
        self._started = monotonic()
        # In a session of its own, Ctrl-C does not reach it before it ignores signals.
        return subprocess.Popen(self._command, stdin=self._listener.fileno(), start_new_session=True)


@contextmanager
def share_networks(workers: int, settings: Settings) -> Iterator[Callable[[], None]]:
    """Run the networks for the processes started in this block; yield a function that restarts them if they died."""
    if sys.platform == "win32":
        raise RuntimeError("Windows has one process")
    with ExitStack() as stack:
        try:
            folder = stack.enter_context(TemporaryDirectory(prefix="bookbound-", ignore_cleanup_errors=True))
            listener = stack.enter_context(socket.socket(socket.AF_UNIX))
            path = str(Path(folder) / "networks")
            listener.bind(path)
            listener.listen(socket.SOMAXCONN)
        except OSError as error:
            raise ConfigError(
                f"The workers cannot share a socket in {gettempdir()} ({error.strerror or error}). "
                "Set TMPDIR to another folder, with a short path."
            ) from error
        os.environ[SOCKET_VARIABLE] = path  # before the workers start
        stack.callback(os.environ.pop, SOCKET_VARIABLE)
        process = NetworkProcess(listener, workers, settings)
        stack.callback(process.kill)
        yield process.ensure_running


class NetworkServer:
    """Reads for the clients of a socket, first come first served.

    It has the threads that the workers would have alone, and as there, the strong reader takes those of one worker.
    """

    def __init__(self, workers: int, threads: int) -> None:
        self._models, self._threads = ModelRuntime(threads=threads), ThreadPoolExecutor(workers * threads)
        self._lock, self._networks = threading.Lock(), dict[str, Future[Network]]()

    def serve(self, listener: socket.socket, parent: int) -> None:
        """Serve as long as this process has this parent, and then the connected clients until they end."""
        clients = list[threading.Thread]()
        while os.getppid() == parent or any(each.is_alive() for each in clients):
            if select([listener], [], [], PARENT_CHECK_SECONDS)[0]:
                connection = Connection(listener.accept()[0].detach())
                clients = [each for each in clients if each.is_alive()]
                clients.append(threading.Thread(target=self._serve_client, args=(connection,), daemon=True))
                clients[-1].start()

    def _serve_client(self, connection: Connection) -> None:
        with connection:
            try:
                while True:
                    request = ReadingRequest.decode(connection.recv_bytes(MAX_REQUEST_BYTES))
                    connection.send_bytes(self._read(request))
            except (EOFError, ConnectionError):
                return  # the client has ended
            except Exception as error:  # the client learns that the connection broke
                reason = str(error) if isinstance(error, BookboundError) else type(error).__name__
                log.error("a reading failed: %s in %s", reason, describe_traceback(error))

    def _read(self, request: ReadingRequest) -> bytes:
        network, inputs = self._open(request.network), dict(request.inputs)
        if not inputs:
            return encode_outputs({})
        return encode_outputs(self._threads.submit(network.read, inputs.pop("input_ids"), **inputs).result())

    def _open(self, name: str) -> Network:
        with self._lock:
            if name not in self._networks:
                self._networks[name] = self._threads.submit(self._models.network, name)
        try:
            return self._networks[name].result()
        except Exception:
            self._networks.pop(name, None)  # the next reading tries again
            raise


def main() -> None:
    for each in (signal.SIGINT, signal.SIGTERM):  # a terminal or service manager sends them to all processes
        signal.signal(each, signal.SIG_IGN)
    parent, *threads, log_format = sys.argv[1:]
    configure_logging(log_format)
    with socket.socket(fileno=os.dup(0)) as listener:
        NetworkServer(*map(int, threads)).serve(listener, int(parent))


if __name__ == "__main__":
    main()
