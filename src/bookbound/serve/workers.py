"""Several processes that answer: each is started again where it dies, and all end together."""

from __future__ import annotations

import logging
import signal
from collections.abc import Callable
from multiprocessing import get_context, resource_tracker
from multiprocessing.context import SpawnProcess
from socket import socket
from time import monotonic, sleep

from bookbound.errors import BadSetup

Work = Callable[[socket], None]
GLANCE = 0.1
UNSTARTED = 3
"""How a server exits that could not start, and would not on another try."""

log = logging.getLogger("bookbound.serve")


class Workers:
    """`number` processes that `work` on one socket; after the first signal they have `patience` seconds to end."""

    def __init__(self, work: Work, taken: socket, number: int, patience: float) -> None:
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
                sleep(GLANCE)
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
            if process.exitcode == UNSTARTED:
                raise BadSetup("A process that answers could not start; what it said above tells why.")
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
            sleep(GLANCE)
