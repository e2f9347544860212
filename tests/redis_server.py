"""A real Redis in a process of its own, on a free port of this machine."""

from __future__ import annotations

import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import redis
from redis.backoff import NoBackoff
from redis.retry import Retry


class RedisServer:
    """A server that keeps nothing: started, killed and started again at one address."""

    def __init__(self, program: str, folder: Path, *options: str) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port: int = free.getsockname()[1]
        self._command = [program, "--port", str(self.port), "--bind", "127.0.0.1", "--dir", str(folder), "--save", ""]
        self._command += options
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        return f"redis://127.0.0.1:{self.port}/0"

    def start(self) -> None:
        """Start it, and wait until it answers, if only to ask for a password."""
        self._process = subprocess.Popen(self._command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        with redis.Redis(port=self.port, retry=Retry(NoBackoff(), 0)) as client:
            for _ in range(200):
                try:
                    client.ping()
                except redis.AuthenticationError:
                    return
                except redis.ConnectionError:
                    time.sleep(0.05)
                else:
                    return
        raise AssertionError("redis-server does not answer")

    def kill(self) -> None:
        if self._process:
            self._process.kill()
            self._process.wait()
            self._process = None

    def keys(self) -> list[str]:
        """The names of all that it holds."""
        with redis.Redis(port=self.port, decode_responses=True) as client:
            return sorted(str(key) for key in client.scan_iter())


@contextmanager
def redis_server(folder: Path, *options: str) -> Iterator[RedisServer]:
    """A server that runs, or a skip that says why there is none."""
    program = shutil.which("redis-server")
    if program is None:
        pytest.skip("redis-server is not installed")
    server = RedisServer(program, folder, *options)
    server.start()
    try:
        yield server
    finally:
        server.kill()
