"""Runs the real server in its own process, as the command does."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any

import httpx

from bookbound.settings import ENVIRONMENT_PREFIX

UNLIMITED = {"BOOKBOUND_RATE_LIMITS": "off"}


@contextmanager
def run_server(index: Path, *options: str, **environment: str) -> Iterator[str]:
    """Runs the server in its own process on a free port, without rate limits, and yields its address.

    Its log is shown only if it does not start.
    """
    command = [sys.executable, "-u", "-m", "bookbound", "serve", "--index", str(index), "--port", "0", *options]
    with TemporaryFile("w+") as log:
        process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=log, text=True, env=os.environ | UNLIMITED | environment
        )
        try:
            assert process.stdout is not None
            found = re.search(r"http://[\d.]+:\d+", process.stdout.readline())
            assert found, f"the server did not start: {log.seek(0) or log.read()}"
            yield found[0]
        finally:
            process.terminate()
            process.communicate(timeout=30)
        assert process.returncode in (0, -15, 143)


run_fast_server = partial(run_server, BOOKBOUND_READER="fast")
"""Runs a server with the fast reader, which starts sooner and needs less memory, for rules that hold for any reader."""


@dataclass(frozen=True)
class ServerProcess:
    """A running server and a client of it."""

    process: subprocess.Popen[str]
    client: httpx.Client


@contextmanager
def run_server_process(
    settings: Mapping[str, Any], output: Path, *options: str, address: str | None = None
) -> Iterator[ServerProcess]:
    """Run a server with these settings; `output` gets everything that it writes.

    By default it has no rate limits and the fast reader, which starts sooner and needs less memory.

    The client connects from `address`.
    """
    environment = {name: value for name, value in os.environ.items() if not name.startswith(ENVIRONMENT_PREFIX)}
    environment |= {
        ENVIRONMENT_PREFIX + name.upper(): str(value)
        for name, value in ({"rate_limits": "off", "reader": "fast"} | dict(settings)).items()
    }
    command = [sys.executable, "-u", "-m", "bookbound", "serve", "--port", "0", *options]
    with output.open("w") as file:
        process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=file, text=True, env=environment, cwd=output.parent
        )
    first_line = ""
    try:
        assert process.stdout is not None
        first_line = process.stdout.readline()
        url = re.search(r"http://[\d.]+:\d+", first_line)
        assert url, output.read_text()
        transport = httpx.HTTPTransport(local_address=address)
        with httpx.Client(base_url=url[0], timeout=60, transport=transport) as client:
            yield ServerProcess(process, client)
    finally:
        process.terminate()
        rest, _ = process.communicate(timeout=60)
        with output.open("a") as file:
            file.write(first_line + rest)


def read_files(folder: Path) -> bytes:
    """The content of all files in a folder."""
    return b"\n".join(file.read_bytes() for file in folder.rglob("*") if file.is_file())


def process_tree(process: int) -> Iterator[int]:
    """A process and its descendants."""
    yield process
    for task in Path(f"/proc/{process}/task").iterdir():
        with suppress(FileNotFoundError, ProcessLookupError):  # the thread has ended meanwhile
            for child in (task / "children").read_text().split():
                yield from process_tree(int(child))
