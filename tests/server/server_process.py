"""Runs the real server in its own process, as the command does, and keeps its output."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import httpx

from bookbound.settings import ENVIRONMENT_PREFIX
from evals import bench_server

run_fast_server = partial(bench_server.run_server, BOOKBOUND_READER="fast")
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
