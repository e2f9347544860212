"""Kills processes of a running service at random times and starts them again."""

from __future__ import annotations

import os
import random
import signal
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from threading import Event

from lab.measure.load.bookbound_service import BookboundService
from tests.servers.backend_servers import Postgres, Redis, wait_until

PAUSE_SECONDS, DOWNTIME_SECONDS = (4.0, 12.0), (0.5, 6.0)


class Chaos:
    """Kills until it is stopped; then everything runs again."""

    def __init__(self, service: BookboundService, postgres: Postgres, redis: Redis | None, seed: int) -> None:
        self._service, self._postgres, self._redis = service, postgres, redis
        self._worker_count = len(service.workers)
        self._random, self._stopped = random.Random(seed), Event()
        self.killed = Counter[str]()
        self._thread = ThreadPoolExecutor(1, "chaos")
        self._result = self._thread.submit(self._run)

    def stop(self) -> None:
        """Stops killing and raises the error of the killing thread, if it had one."""
        self._stopped.set()
        self._thread.shutdown()
        self._result.result()

    def _run(self) -> None:
        kills = {"worker": self._kill_worker, "postgres": self._kill_postgres}
        if self._redis:
            kills["redis"] = self._kill_redis
        turns: list[str] = []
        while not self._stopped.wait(self._random.uniform(*PAUSE_SECONDS)):
            # Each kind is killed equally often, in random order.
            turns = turns or self._random.sample(list(kills), len(kills))
            kills[turns.pop()]()

    def _kill_postgres(self) -> None:
        """Half the time a worker is killed as well, with every entry that waits for the database."""
        self.killed["postgres"] += 1
        self._postgres.crash()
        self._stopped.wait(self._random.uniform(*DOWNTIME_SECONDS))
        if self._random.random() < 0.5:
            self._kill_worker()
        self._postgres.start()

    def _kill_redis(self) -> None:
        assert self._redis
        self.killed["redis"] += 1
        self._redis.crash()
        self._stopped.wait(self._random.uniform(*DOWNTIME_SECONDS))
        self._redis.start()

    def _kill_worker(self) -> None:
        self.killed["worker"] += 1
        wait_until(lambda: len(self._service.workers) == self._worker_count)
        worker = self._random.choice(self._service.workers)
        os.kill(worker, signal.SIGKILL)
        wait_until(lambda: worker not in self._service.workers and len(self._service.workers) == self._worker_count)
