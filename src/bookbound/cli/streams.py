"""The standard streams: always there, and what cannot be written to them is told as such."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from io import TextIOWrapper
from typing import TextIO

from bookbound.errors import BookboundError

NAMES = {"stdin": "r", "stdout": "w", "stderr": "w"}


class Unwritten(BookboundError):
    """Standard output did not take what there was to write."""


def ready() -> None:
    """A stream that was closed reads and writes nothing, and a character that a stream does not know is replaced.

    In this order the null device takes the numbers of the closed streams, and no other file can get them.
    """
    for name, mode in NAMES.items():
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: PTH123, SIM115
        if isinstance(stream := getattr(sys, name), TextIOWrapper):
            stream.reconfigure(errors="replace")


@contextmanager
def writing() -> Iterator[None]:
    """Within this block trouble with files is trouble with standard output; a reader that is gone stays told apart."""
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as trouble:
        raise Unwritten(f"Standard output cannot be written: {trouble.strerror}.") from trouble


def flush() -> None:
    """Bring to standard output what was put there so far."""
    with writing():
        sys.stdout.flush()


def discard(stream: TextIO) -> None:
    """Let go of what could not be written, so that Python does not try it once more as it exits."""
    with suppress(OSError):
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, stream.fileno())
        os.close(null)
        stream.flush()
