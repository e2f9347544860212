"""Runs several worker processes, restarts those that die, and gives them a folder to share metrics."""

from __future__ import annotations

import logging
import os
import signal
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
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
"""How a server exits that could not start, and would not on another try."""
log = logging.getLogger("bookbound.server")


class WorkerProcesses:
    """`number` processes that `work` on one socket; after the first signal they have `patience` seconds to end."""

    def __init__(self, work: WorkerTarget, taken: socket, number: int, patience: float) -> None:
        self._work, self._taken = work, taken
        self._number, self._patience = number, patience
        self._processes: list[SpawnProcess] = []
        self._heard = 0

    def run(self) -> None:
        """Until a signal ends it; each further signal is handed on as well."""
        for each in (signal.SIGINT, signal.SIGTERM):
            signal.signal(each, self._hear)
        resource_tracker.ensure_running()  # it lets signals through again when it starts
        try:
            for _ in range(self._number):
                self._processes.append(self._started())
            while not self._heard:
                sleep(POLL_SECONDS)
                self._replace_the_dead()
        finally:
            self._end()

    def _hear(self, *_: object) -> None:
        self._heard += 1

    def _started(self) -> SpawnProcess:
        """A process that Ctrl-C, which a terminal sends to all, does not reach: it is ended at our word alone."""
        process = get_context("spawn").Process(target=self._work, args=(self._taken,))
        before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        try:
            process.start()
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
        return process

    def _replace_the_dead(self) -> None:
        for place, process in enumerate(self._processes):
            if process.exitcode == STARTUP_FAILURE_EXIT_CODE:
                raise ConfigError("A process that answers could not start; what it said above tells why.")
            if process.exitcode is not None and not self._heard:
                log.error("a process that answers ended by itself (%d) and is started again", process.exitcode)
                self._processes[place] = self._started()

    def _end(self) -> None:
        """Pass each signal on, and wait until nobody is left; who takes too long is not asked."""
        self._taken.close()  # otherwise clients would be taken by nobody, and wait
        told, until = 0, monotonic() + self._patience
        while alive := [process for process in self._processes if process.is_alive()]:
            late = monotonic() >= until
            for process in alive:
                if late:
                    process.kill()
                elif told < max(self._heard, 1):
                    process.terminate()
            told = max(self._heard, 1)
            sleep(POLL_SECONDS)


METRICS_FOLDER_VARIABLE = "PROMETHEUS_MULTIPROC_DIR"
METRICS_FILE_BYTES = 1 << 20
"""The bytes that a process needs for its figures of one kind, with much to spare."""


@contextmanager
def share_metrics_folder() -> Iterator[None]:
    """A folder for nobody else, which the processes that are started meanwhile find by its variable."""
    with TemporaryDirectory(prefix="bookbound-", ignore_cleanup_errors=True) as folder:
        os.environ[METRICS_FOLDER_VARIABLE] = folder
        try:
            yield
        finally:
            del os.environ[METRICS_FOLDER_VARIABLE]


def reserve_metrics_files(folder: Path, kinds: Iterable[str]) -> None:
    """Take the room for the figures of this process: it maps these files, and would die where a full disk has none."""
    try:
        for kind in kinds:
            with suppress(FileExistsError), (folder / f"{kind}_{os.getpid()}.db").open("xb") as file:
                file.write(bytes(METRICS_FILE_BYTES))
    except OSError as trouble:
        raise ConfigError(
            f"The figures of the processes find no room in {folder.parent} ({trouble.strerror}). "
            "Free some, name another folder by TMPDIR, or set BOOKBOUND_METRICS=off."
        ) from trouble
