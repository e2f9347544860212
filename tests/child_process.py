"""Starts processes that never outlive their test."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


@contextmanager
def run_child(*command: str, **options: Any) -> Iterator[subprocess.Popen[Any]]:
    """Runs a process and kills it if it has not ended by itself, also if the test fails meanwhile."""
    with subprocess.Popen(command, **options) as process:
        try:
            yield process
        finally:
            process.kill()
