"""Measures the server with one client and with many."""

from __future__ import annotations

import http.client
import json
import statistics
import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass
from itertools import cycle
from operator import sub
from pathlib import Path
from threading import Event
from time import perf_counter
from typing import Any

from lab.measure.timing import p95
from tests.server.server_process import run_server

CLIENTS, ROUNDS = 16, 3
POLITE_CLIENT, GREEDY_CLIENT, GREEDY_CONNECTIONS = "127.0.0.2", "127.0.0.3", 15
STAGES = ("retrieve", "judge", "answer")
"""The timings of a reply that together are its whole work."""


def ask(address: str, question: str, source: str = "127.0.0.1") -> dict[str, Any]:
    """Returns the reply to a question that comes from an address; an error status raises."""
    server = address.removeprefix("http://")
    with closing(http.client.HTTPConnection(server, timeout=120, source_address=(source, 0))) as connection:
        body, headers = json.dumps({"question": question}), {"Content-Type": "application/json"}
        connection.request("POST", "/v1/answers", body, headers)
        response = connection.getresponse()
        if response.status != 200:
            raise http.client.HTTPException(f"/v1/answers replies with status {response.status}")
        reply: dict[str, Any] = json.load(response)
        return reply


@dataclass(frozen=True, slots=True)
class LoadResult:
    """How long all questions took together; for each reply its time and how much of it was spent in the queue."""

    seconds: float
    total_ms: Sequence[float]
    wait_ms: Sequence[float]
    failures: Sequence[str]

    @property
    def per_second(self) -> float:
        return len(self.total_ms) / self.seconds


def ask_all(address: str, questions: Sequence[str], clients: int) -> LoadResult:
    """Asks the questions with some clients at once.

    The wait in the queue is the time that the client measures without the work that the reply reports.
    """
    total_ms, wait_ms, failures = list[float](), list[float](), list[str]()

    def time_reply(question: str) -> None:
        start = perf_counter()
        try:
            timings = ask(address, question)["trace"]["milliseconds"]
        except (OSError, http.client.HTTPException) as error:
            failures.append(f"{type(error).__name__}: {error}")
            return
        total = (perf_counter() - start) * 1000
        total_ms.append(total)
        wait_ms.append(total - sum(timings.get(stage, 0.0) for stage in STAGES))

    start = perf_counter()
    with ThreadPoolExecutor(clients) as pool:
        list(pool.map(time_reply, questions))
    return LoadResult(perf_counter() - start, total_ms, wait_ms, failures)


def measure_fairness(index: Path, questions: Sequence[str]) -> dict[str, float]:
    """What a client with one connection gets while another asks all the time through many."""
    polite_ms, greedy_ms, failures, is_over = list[float](), list[float](), Counter[str](), Event()

    def ask_on(source: str, taken: list[float], texts: Iterable[str]) -> None:
        for text in texts:
            if is_over.is_set():
                return
            start = perf_counter()
            try:
                ask(address, text, source)
                taken.append((perf_counter() - start) * 1000)
            except (OSError, http.client.HTTPException):
                failures[source] += 1

    with run_server(index) as address, ThreadPoolExecutor(GREEDY_CONNECTIONS) as pool:
        ask_all(address, questions[:10], 4)
        for _ in range(GREEDY_CONNECTIONS):
            pool.submit(ask_on, GREEDY_CLIENT, greedy_ms, cycle(questions))
        ask_on(POLITE_CLIENT, polite_ms, questions)
        is_over.set()
    return {
        "failures with 1 connection (none)": failures[POLITE_CLIENT],
        "answers of the client with 1 connection": len(polite_ms),
        f"the same / those of one of {GREEDY_CONNECTIONS} connections": len(polite_ms)
        / (len(greedy_ms) / GREEDY_CONNECTIONS),
        f"p50 with 1 connection / with {GREEDY_CONNECTIONS}": statistics.median(polite_ms)
        / statistics.median(greedy_ms),
        f"longest reply with 1 connection / with {GREEDY_CONNECTIONS}": max(polite_ms) / max(greedy_ms),
    }


def measure(index: Path, questions: Sequence[str]) -> dict[str, float]:
    """Times and throughput of the server at one client and at many."""
    with run_server(index) as address:
        ask_all(address, questions[:10], 1)
        alone = ask_all(address, questions, 1)
        many = ask_all(address, list(questions) * ROUNDS, CLIENTS)
    for failure, count in Counter([*alone.failures, *many.failures]).items():
        print(f"{count} times: {failure}", file=sys.stderr)
    return {
        "1 client: p50, ms": statistics.median(alone.total_ms),
        "1 client: p95, ms": p95(alone.total_ms),
        "1 client: time of a request / work of the engine (at most 1.25)": statistics.median(alone.total_ms)
        / statistics.median(map(sub, alone.total_ms, alone.wait_ms)),
        f"{CLIENTS} clients: questions": len(questions) * ROUNDS,
        f"{CLIENTS} clients: failures (none)": len(many.failures),
        f"{CLIENTS} clients: p50, ms": statistics.median(many.total_ms),
        f"{CLIENTS} clients: p95, ms": p95(many.total_ms),
        f"{CLIENTS} clients: p50 of the wait in the queue, ms": statistics.median(many.wait_ms),
        f"{CLIENTS} clients: p95 of the wait in the queue, ms": p95(many.wait_ms),
        "questions a second, 1 client": alone.per_second,
        f"questions a second, {CLIENTS} clients / 1 client": many.per_second / alone.per_second,
    }
