"""Runs `bookbound serve` with its worker processes."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bookbound.settings import ENVIRONMENT_PREFIX
from tests.server.server_process import process_tree
from tests.servers.backend_servers import wait_until

STOP_TIMEOUT_SECONDS = 90
WORKER_MARKER = b"spawn_main"
OTHER_ROLES = {b"resource_tracker": "tracker", b"network_process": "networks"}
UNLIMITED = "1000000/minute"
"""Limits are counted but never reached."""


class BookboundService:
    """`bookbound serve` with several workers; its output goes to a file."""

    def __init__(self, settings: Mapping[str, Any], workers: int, file: Path) -> None:
        environment = {name: value for name, value in os.environ.items() if not name.startswith(ENVIRONMENT_PREFIX)}
        environment |= {ENVIRONMENT_PREFIX + name.upper(): str(value) for name, value in settings.items()}
        command = [sys.executable, "-u", "-m", "bookbound", "serve", "--port", "0", "--workers", str(workers)]
        with file.open("w") as output:
            self._process = subprocess.Popen(command, stdout=output, stderr=output, env=environment, cwd=file.parent)
        self._file = file
        wait_until(lambda: "http://" in self.output or self._process.poll() is not None)
        found = re.search(r"http://[\d.]+:\d+", self.output)
        if not found:
            raise RuntimeError(f"the service did not start:\n{self.output}")
        self.address = found[0]
        wait_until(lambda: len(self.workers) == workers)

    @property
    def output(self) -> str:
        return self._file.read_text()

    @property
    def workers(self) -> list[int]:
        """The ids of the worker processes."""
        return [each for each in self._processes() if WORKER_MARKER in _command(each)]

    def memory(self) -> dict[str, float]:
        """The memory of each process in MB."""
        return {f"{_role(each)} {each}": megabytes for each in self._processes() if (megabytes := _resident(each))}

    @property
    def exit_code(self) -> int:
        return self._process.wait()

    def stop(self) -> None:
        """Stops the service and waits for its end."""
        self._process.terminate()
        try:
            self._process.wait(STOP_TIMEOUT_SECONDS)
        except subprocess.TimeoutExpired:
            for each in self._processes():
                os.kill(each, signal.SIGKILL)

    def _processes(self) -> list[int]:
        try:
            return list(process_tree(self._process.pid))
        except OSError:  # a process ended meanwhile
            return []


def _command(process: int) -> bytes:
    try:
        return Path(f"/proc/{process}/cmdline").read_bytes()
    except OSError:
        return b""


def _role(process: int) -> str:
    command = _command(process)
    roles = {WORKER_MARKER: "worker", **OTHER_ROLES}
    return next((role for marker, role in roles.items() if marker in command), "supervisor")


def _resident(process: int) -> float:
    try:
        pages = int(Path(f"/proc/{process}/statm").read_text().split()[1])
    except OSError:
        return 0.0
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6
