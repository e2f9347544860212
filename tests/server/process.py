"""The real server in a process of its own, as a command starts it, and all that it says."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx

from bookbound.settings import ENVIRONMENT_PREFIX


@dataclass(frozen=True)
class Served:
    """A server that runs, and a client of it."""

    process: subprocess.Popen[str]
    client: httpx.Client


@contextmanager
def served(chosen: Mapping[str, Any], output: Path, *options: str, address: str | None = None) -> Iterator[Served]:
    """A server with these settings alone, asked from an address; once it has ended, `output` has what it wrote.

    Unless the settings say otherwise, it sets no limits.
    """
    environment = {name: value for name, value in os.environ.items() if not name.startswith(ENVIRONMENT_PREFIX)}
    environment |= {
        ENVIRONMENT_PREFIX + name.upper(): str(value) for name, value in ({"limits": "off"} | dict(chosen)).items()
    }
    command = [sys.executable, "-u", "-m", "bookbound", "serve", "--port", "0", *options]
    with output.open("w") as written:
        process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=written, text=True, env=environment, cwd=output.parent
        )
    said = ""
    try:
        assert process.stdout is not None
        said = process.stdout.readline()
        found = re.search(r"http://[\d.]+:\d+", said)
        assert found, output.read_text()
        line = httpx.HTTPTransport(local_address=address)
        with httpx.Client(base_url=found[0], timeout=60, transport=line) as client:
            yield Served(process, client)
    finally:
        process.terminate()
        rest, _ = process.communicate(timeout=60)
        with output.open("a") as written:
            written.write(said + rest)
