"""Measures the server with one client and with many, compared with the engine alone."""

from __future__ import annotations

import asyncio
import http.client
import json
import os
import re
import statistics
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from time import perf_counter

from bookbound import bootstrap
from bookbound.domain.question import Question
from bookbound.settings import Settings

CLIENTS, ROUNDS = 16, 3
UNLIMITED = {"BOOKBOUND_RATE_LIMITS": "off"}


@contextmanager
def run_server(index: Path, *options: str, **environment: str) -> Iterator[str]:
    """Runs the server in its own process on a free port, without rate limits, and yields its address."""
    command = [sys.executable, "-u", "-m", "bookbound", "serve", "--index", str(index), "--port", "0", *options]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=os.environ | UNLIMITED | environment)
    try:
        assert process.stdout is not None
        found = re.search(r"http://[\d.]+:\d+", process.stdout.readline())
        assert found, "the server prints its address"
        yield found[0]
    finally:
        process.terminate()
        process.communicate(timeout=30)
    assert process.returncode in (0, -15, 143)


class Client(threading.local):
    """One open connection for each thread, as in a browser."""

    def __init__(self, address: str) -> None:
        self._connection = http.client.HTTPConnection(address.removeprefix("http://"), timeout=120)

    def ask(self, question: str) -> None:
        headers = {"Content-Type": "application/json"}
        self._connection.request("POST", "/v1/answers", json.dumps({"question": question}), headers)
        response = self._connection.getresponse()
        response.read()
        assert response.status == 200, response.status


def measure(index: Path, questions: Sequence[str]) -> dict[str, float]:
    """Milliseconds per question, and the ratio of server and engine time, measured alternately."""
    with run_server(index) as address, asyncio.Runner() as runner:
        pipeline = runner.run(bootstrap.open_pipeline(Settings(index=index)))
        client = Client(address)

        def ask_server(question: str) -> float:
            start = perf_counter()
            client.ask(question)
            return (perf_counter() - start) * 1000

        async def ask_engine(question: str) -> float:
            start = perf_counter()
            await pipeline.ask(Question(question))
            return (perf_counter() - start) * 1000

        for question in questions[:10]:
            ask_server(question), runner.run(ask_engine(question))
        pairs = [(ask_server(each), runner.run(ask_engine(each))) for _ in range(ROUNDS) for each in questions]
        with ThreadPoolExecutor(CLIENTS) as clients:
            many = list(clients.map(ask_server, list(questions) * ROUNDS))
        runner.run(pipeline.close())
    alone = [server_ms for server_ms, _ in pairs]
    return {
        "POST /v1/answers at 1 client, p50 ms": statistics.median(alone),
        "POST /v1/answers at 1 client, p95 ms": statistics.quantiles(alone, n=20)[-1],
        f"POST /v1/answers at {CLIENTS} clients, p50 ms": statistics.median(many),
        f"POST /v1/answers at {CLIENTS} clients, p95 ms": statistics.quantiles(many, n=20)[-1],
        "POST /v1/answers / the engine alone, at 1 client (at most 1.25)": statistics.median(alone)
        / statistics.median(engine_ms for _, engine_ms in pairs),
    }
