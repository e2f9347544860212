"""Runs several worker processes, restarts those that die, and gives them a folder to share metrics."""

from __future__ import annotations

import logging
import os
import signal
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from multiprocessing import get_context, resource_tracker
from multiprocessing.context import SpawnProcess
from pathlib import Path
from socket import socket
from tempfile import TemporaryDirectory
from time import monotonic, sleep

from bookbound.domain.errors import ConfigError

WorkerTarget = Callable[[socket], None]
POLL_SECONDS = 0.1
STARTUP_FAILURE_EXIT_CODE = 3
"""The exit code of a server that could not start and would fail again."""
MIN_RESTART_SECONDS = 2.0
"""A process that dies again and again is started no more often than this."""
log = logging.getLogger("bookbound.server")


@dataclass(eq=False)
class WorkerProcesses:
    """Several processes that run `target` on one socket; after the first signal they have `stop_seconds` to end.

    `keep_services` is called again and again as long as there are processes, and starts again what they need.
    """

    target: WorkerTarget
    listener: socket
    count: int
    stop_seconds: float
    keep_services: Callable[[], None] = lambda: None
    _processes: list[SpawnProcess] = field(default_factory=list, init=False)
    _start_times: dict[int, float] = field(default_factory=dict, init=False)
    _signals: int = field(default=0, init=False)
    _restarts: int = field(default=0, init=False)

    def run(self) -> None:
        """Run until a signal; each further signal is passed on as well."""
        for each in (signal.SIGINT, signal.SIGTERM):
            signal.signal(each, self._count_signal)
        try:
            for position in range(self.count):
                self._start_times[position] = monotonic()
                self._processes.append(self._start_process())
            while not self._signals:
                sleep(POLL_SECONDS)
                self.keep_services()
                self._restart_dead()
        finally:
            self._stop()

    def _count_signal(self, *_: object) -> None:
        self._signals += 1

    def _start_process(self) -> SpawnProcess:
        """A process with Ctrl-C blocked, which a terminal sends to all processes: only we stop it."""
        if sys.platform == "win32":
            raise RuntimeError("Windows has one process")
        resource_tracker.ensure_running()  # it unblocks signals when it starts
        process = get_context("spawn").Process(target=self.target, args=(self.listener,))
        before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        try:
            process.start()
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
        return process

    def _restart_dead(self) -> None:
        """Start dead processes again, each at most once in a while; one that never ran ends the server instead."""
        for position, process in enumerate(self._processes):
            if process.exitcode == STARTUP_FAILURE_EXIT_CODE and not self._restarts:
                raise ConfigError("A worker process could not start. Its messages above say why.")
            is_due = monotonic() >= self._start_times[position] + MIN_RESTART_SECONDS
            if process.exitcode is not None and is_due and not self._signals:
                log.error("a worker process died (%d) and is started again", process.exitcode)
                self._restarts += 1
                self._start_times[position] = monotonic()
                self._processes[position] = self._start_process()

    def _stop(self) -> None:
        """Pass each signal on and wait until all processes have ended; those that take too long are killed."""
        self.listener.close()  # otherwise clients could still connect, and would never get a response
        passed_on, deadline = 0, monotonic() + self.stop_seconds
        while alive := [process for process in self._processes if process.is_alive()]:
            is_late, signals = monotonic() >= deadline, max(self._signals, 1)
            for process in alive:
                if is_late:
                    process.kill()
                elif passed_on < signals:
                    process.terminate()
            passed_on = signals
            self.keep_services()
            sleep(POLL_SECONDS)


METRICS_FOLDER_VARIABLE = "PROMETHEUS_MULTIPROC_DIR"
METRICS_FILE_BYTES = 1 << 20
"""More than a process needs for its metrics of one kind."""


@contextmanager
def share_metrics_folder() -> Iterator[None]:
    """A private folder that the processes started in this block find through an environment variable."""
    with TemporaryDirectory(prefix="bookbound-", ignore_cleanup_errors=True) as folder:
        os.environ[METRICS_FOLDER_VARIABLE] = folder
        try:
            yield
        finally:
            del os.environ[METRICS_FOLDER_VARIABLE]


def reserve_metrics_files(folder: Path, kinds: Iterable[str]) -> None:
    """Reserve disk space for the metrics of this process, which would die if a mapped file could not grow.

    The counters of a dead process are continued, so that there are never more files than processes.
    """
    try:
        folder.mkdir(mode=0o700, exist_ok=True)  # a clean-up of temporary files may have removed it
        for kind in kinds:
            own_file = folder / f"{kind}_{os.getpid()}.db"
            if kind.startswith("gauge") or not _continue_file(folder.glob(f"{kind}_*.db"), own_file):
                with suppress(FileExistsError), own_file.open("xb") as file:
                    file.write(bytes(METRICS_FILE_BYTES))
    except OSError as error:
        raise ConfigError(
            f"There is no disk space for metrics in {folder.parent} ({error.strerror}). "
            "Free some, set TMPDIR to another folder, or set BOOKBOUND_METRICS=off."
        ) from error


def _continue_file(files: Iterable[Path], own_file: Path) -> bool:
    """Rename the first file of a dead process to that of this process, and return whether there was one."""
    for file in files:
        if not has_live_owner(file):
            with suppress(FileNotFoundError):  # another new process was faster
                file.rename(own_file)
                return True
    return False


def has_live_owner(file: Path) -> bool:
    """Whether the process runs that keeps a file of metrics; the name of the file ends with its id."""
    if sys.platform == "win32":
        return True  # where this signal is Ctrl-C, and there is one process
    try:
        os.kill(int(file.stem.rpartition("_")[2]), 0)
    except ProcessLookupError:
        return False
    except PermissionError:  # another user's process has got the id of a dead one
        pass
    return True
