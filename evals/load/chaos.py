"""At moments that nobody chose, one of the processes that a service rests on is killed, and is there again later."""

from __future__ import annotations

import os
import random
import signal
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from threading import Event

from bookbound.server.query_log.unflushed import UnreportedEntries, parse_unflushed
from evals.load.service import Service
from evals.load.services import Postgres, Redis, until

PAUSE, AWAY = (4.0, 12.0), (0.5, 6.0)
"""The seconds between two kills, and those that something stays away."""


class Chaos:
    """Kills until it is stopped; then everything is there again."""

    def __init__(self, service: Service, log: Path, postgres: Postgres, redis: Redis | None, seed: int) -> None:
        self._service, self._log, self._postgres, self._redis = service, log, postgres, redis
        self._workers = len(service.workers)
        self._chance, self._enough = random.Random(seed), Event()
        self.killed, self.left = Counter[str](), list[UnreportedEntries]()
        self._thread = ThreadPoolExecutor(1, "chaos")
        self._end = self._thread.submit(self._go_on)

    def stop(self) -> None:
        """Kill no more; what went wrong with the killing itself is raised here."""
        self._enough.set()
        self._thread.shutdown()
        self._end.result()

    def _go_on(self) -> None:
        kinds = ("worker", "postgres", "redis") if self._redis else ("worker", "postgres")
        turns: list[str] = []
        while not self._enough.wait(self._chance.uniform(*PAUSE)):
            # Each comes up as often as the others, in an order that nobody knows.
            turns = turns or self._chance.sample(kinds, len(kinds))
            self._kill(turns.pop())

    def _kill(self, name: str) -> None:
        self.killed[name] += 1
        {"worker": self._kill_worker, "postgres": self._kill_postgres, "redis": self._kill_redis}[name]()

    def _kill_postgres(self) -> None:
        """Half the time a worker goes as well, with all that waits for the database."""
        self._postgres.crash()
        self._enough.wait(self._chance.uniform(*AWAY))
        if self._chance.random() < 0.5:
            self._kill("worker")
        self._postgres.start()

    def _kill_redis(self) -> None:
        assert self._redis
        self._redis.crash()
        self._enough.wait(self._chance.uniform(*AWAY))
        self._redis.start()

    def _kill_worker(self) -> None:
        """First it is stopped, wherever it is, so that what it leaves can be looked at before anybody else does."""
        until(lambda: len(self._service.workers) == self._workers)
        worker = self._chance.choice(self._service.workers)
        os.kill(worker, signal.SIGSTOP)
        until(lambda: _state(worker) == "T")
        self.left += [parse_unflushed(file.read_bytes()) for file in self._held(worker)]
        os.kill(worker, signal.SIGKILL)
        until(lambda: worker not in self._service.workers and len(self._service.workers) == self._workers)

    def _held(self, worker: int) -> list[Path]:
        """The files of what is outstanding that a process holds."""
        opened = set()
        for link in Path(f"/proc/{worker}/fd").iterdir():
            with suppress(OSError):
                opened.add(link.stat().st_ino)
        return [file for file in self._log.glob("outstanding-*") if file.stat().st_ino in opened]


def _state(process: int) -> str:
    return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
