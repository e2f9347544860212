"""Tests the rate limits of the real server over two processes and a real Redis that stops and starts."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
import time
import uuid
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from pathlib import Path

import httpx
import pytest
from tests.redis_server import RedisServer, redis_server
from tests.server.server_process import run_server_process

from bookbound.server.rate_limit import RETRY_SECONDS

READER, OTHER, PROXIED = "203.0.113.77", "203.0.113.78", "127.0.0.1"


@contextmanager
def limited(server: RedisServer, index: Path, folder: Path) -> Iterator[httpx.Client]:
    """Two processes behind a local proxy that allow each reader eight requests an hour."""
    settings = {
        "index": index,
        "rate_limits": "on",
        "address_rate_limit": "8/hour",
        "query_session_rate_limit": "1/hour",
    }
    settings |= {"redis_url": server.url, "trusted_proxies": PROXIED}
    settings |= {"query_log_url": f"sqlite:///{folder / 'log.db'}", "query_log_addresses": "plain"}
    with run_server_process(settings, folder / "output", "--workers", "2") as running:
        yield running.client


def search(client: httpx.Client, reader: str, times: int) -> Counter[int]:
    """The statuses of a reader's searches, up to 64 at once, each over its own connection."""

    def once(_: int) -> int:
        headers = {"X-Forwarded-For": f"198.51.100.1, {reader}", "Connection": "close"}
        return client.post("/v1/search", json={"query": "gear"}, headers=headers).status_code

    with ThreadPoolExecutor(64) as clients:
        return Counter(clients.map(once, range(times)))


def session(client: httpx.Client, reader: str) -> list[int]:
    """The statuses of three questions of one session."""
    body, headers = {"query": "What is a gear?", "session_id": str(uuid.uuid4())}, {"X-Forwarded-For": reader}
    return [client.post("/api/query", json=body, headers=headers).status_code for _ in range(3)]


@pytest.mark.slow
def test_two_processes_share_a_limit_and_work_without_redis(example_index: Path, tmp_path: Path) -> None:
    with redis_server(tmp_path) as server:
        with limited(server, example_index, tmp_path) as client:
            assert search(client, READER, 64) == {200: 8, 429: 56}
            assert session(client, OTHER) == [200, 429, 429]
            server.crash()
            alone = search(client, READER, 64)
            assert set(alone) == {200, 429}
            assert alone[200] <= 16  # each of the two processes allows eight
            server.start()
            time.sleep(RETRY_SECONDS)
            for _ in range(40):
                if server.keys():
                    break
                search(client, OTHER, 8)
                time.sleep(0.1)
            assert server.keys()
        output = (tmp_path / "output").read_text()
    assert 1 <= output.count("each process counts rate limits alone") <= 2
    assert 1 <= output.count("rate limits are shared again") <= 2
    assert READER not in output
    with closing(sqlite3.connect(tmp_path / "log.db")) as log:
        assert log.execute("SELECT user_ip, query_count FROM query_sessions").fetchall() == [(OTHER, 1)]
        assert log.execute("SELECT count(*) FROM queries").fetchone() == (1,)


def test_an_invalid_limit_ends_serve_with_code_2(tmp_path: Path, example_index: Path) -> None:
    (tmp_path / "bookbound.toml").write_text('query_session_rate_limit = "ten"\n')
    command = [sys.executable, "-m", "bookbound", "serve", "--index", str(example_index), "--port", "0"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert "10/minute" in done.stderr
