"""Limits of the real server, over two processes and a real Redis that comes and goes."""

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
from tests.redis_server import RedisServer, redis_server
from tests.server.process import served

from bookbound.server.rate_limit.memory import RETRY_SECONDS

READER, OTHER, PROXIED = "203.0.113.77", "203.0.113.78", "127.0.0.1"


@contextmanager
def limited(server: RedisServer, index: Path, folder: Path) -> Iterator[httpx.Client]:
    """Two processes behind a proxy, at this machine's address, that hold everybody to eight requests an hour."""
    chosen = {"index": index, "limits": "on", "question_limit": "8/hour", "session_limit": "1/hour"}
    chosen |= {"redis_url": server.url, "proxies": PROXIED}
    chosen |= {"log_url": f"sqlite:///{folder / 'log.db'}", "log_addresses": "plain"}
    with served(chosen, folder / "output", "--workers", "2") as running:
        yield running.client


def search(client: httpx.Client, reader: str, times: int) -> Counter[int]:
    """What a reader was answered, 64 times at once at the most, each over a connection of its own."""

    def once(_: int) -> int:
        headers = {"X-Forwarded-For": f"198.51.100.1, {reader}", "Connection": "close"}
        return client.post("/v1/search", json={"query": "gear"}, headers=headers).status_code

    with ThreadPoolExecutor(64) as clients:
        return Counter(clients.map(once, range(times)))


def session(client: httpx.Client, reader: str) -> list[int]:
    """What a reader was answered to three questions of one session, one after the other."""
    body, headers = {"query": "What is a gear?", "session_id": str(uuid.uuid4())}, {"X-Forwarded-For": reader}
    return [client.post("/api/query", json=body, headers=headers).status_code for _ in range(3)]


def test_two_processes_let_exactly_as_much_through_as_one_and_go_on_without_redis(
    example_index: Path, tmp_path: Path
) -> None:
    with redis_server(tmp_path) as server:
        with limited(server, example_index, tmp_path) as client:
            assert search(client, READER, 64) == {200: 8, 429: 56}
            assert session(client, OTHER) == [200, 429, 429]
            server.kill()
            alone = search(client, READER, 64)
            assert set(alone) == {200, 429}
            assert alone[200] <= 16  # each of the two processes holds to eight of its own
            server.start()
            time.sleep(RETRY_SECONDS)
            for _ in range(40):
                if server.keys():
                    break
                search(client, OTHER, 8)
                time.sleep(0.1)
            assert server.keys()
        said = (tmp_path / "output").read_text()
    assert 1 <= said.count("counted by each process alone") <= 2
    assert 1 <= said.count("counted together again") <= 2
    assert READER not in said
    with closing(sqlite3.connect(tmp_path / "log.db")) as log:
        assert log.execute("SELECT user_ip, query_count FROM query_sessions").fetchall() == [(OTHER, 1)]
        assert log.execute("SELECT count(*) FROM queries").fetchone() == (1,)


def test_serve_ends_with_2_where_a_limit_cannot_be_read(tmp_path: Path, example_index: Path) -> None:
    (tmp_path / "bookbound.toml").write_text('session_limit = "ten"\n')
    command = [sys.executable, "-m", "bookbound", "serve", "--index", str(example_index), "--port", "0"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert "10/minute" in done.stderr
