"""The service under load, as its own command starts it, with the processes that it is made of."""

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
from evals.load.services import until
from evals.node import family

PATIENCE = 90
WORKER = b"spawn_main"
UNLIMITED = "1000000/minute"
"""Every question is counted, and none is one too many."""


class Service:
    """`bookbound serve` with several workers; what it says goes to a file."""

    def __init__(self, chosen: Mapping[str, Any], workers: int, output: Path) -> None:
        environment = {name: value for name, value in os.environ.items() if not name.startswith(ENVIRONMENT_PREFIX)}
        environment |= {ENVIRONMENT_PREFIX + name.upper(): str(value) for name, value in chosen.items()}
        command = [sys.executable, "-u", "-m", "bookbound", "serve", "--port", "0", "--workers", str(workers)]
        with output.open("w") as said:
            self._process = subprocess.Popen(command, stdout=said, stderr=said, env=environment, cwd=output.parent)
        self._output = output
        until(lambda: "http://" in self.said or self._process.poll() is not None)
        found = re.search(r"http://[\d.]+:\d+", self.said)
        if not found:
            raise RuntimeError(f"the service did not start:\n{self.said}")
        self.address = found[0]
        until(lambda: len(self.workers) == workers)

    @property
    def said(self) -> str:
        return self._output.read_text()

    @property
    def workers(self) -> list[int]:
        """The processes that answer."""
        return [each for each in self._family() if WORKER in _command(each)]

    def memory(self) -> dict[str, float]:
        """Megabytes that each process holds."""
        return {f"{_role(each)} {each}": held for each in self._family() if (held := _resident(each))}

    @property
    def exit_code(self) -> int:
        return self._process.wait()

    def stop(self) -> None:
        """Tell it to end, and wait until it has."""
        self._process.terminate()
        try:
            self._process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            for each in self._family():
                os.kill(each, signal.SIGKILL)

    def _family(self) -> list[int]:
        try:
            return list(family(self._process.pid))
        except OSError:  # one of them ended while it was looked at
            return []


def _command(process: int) -> bytes:
    try:
        return Path(f"/proc/{process}/cmdline").read_bytes()
    except OSError:
        return b""


def _role(process: int) -> str:
    command = _command(process)
    return "worker" if WORKER in command else "tracker" if b"resource_tracker" in command else "supervisor"


def _resident(process: int) -> float:
    try:
        pages = int(Path(f"/proc/{process}/statm").read_text().split()[1])
    except OSError:
        return 0.0
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6
