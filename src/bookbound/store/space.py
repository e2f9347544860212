"""Room on a disk: made sure of beforehand, since writing into a mapped file on a full one kills the process, unsaid."""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from bookbound.errors import IndexTrouble

SPARE = 1 << 22
"""What is always left free, for the little that an engine writes beside what it is given, and for others."""


class NoRoom(IndexTrouble):
    """A disk has no room for an index, or for a copy of it."""


def free(place: Path | int) -> int:
    """The bytes that may still be taken on the disk of a folder or an open file; some name no end."""
    found = os.statvfs(place)
    return found.f_bavail * found.f_frsize if found.f_blocks else sys.maxsize


@contextmanager
def copying() -> Iterator[None]:
    """Within this block a failure is one of the place for a copy."""
    try:
        yield
    except OSError as trouble:
        raise NoRoom(
            f"The index could not be copied for reading ({trouble.strerror}). "
            "Make room in the folder for temporary files, or name another in TMPDIR."
        ) from trouble


def put(handle: int, content: bytes, at: int) -> None:
    """Write into a file, all or nothing of it, and never into what is to be left free."""
    if free(handle) < len(content) + SPARE:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    while content:
        written = os.pwrite(handle, content, at)
        at, content = at + written, content[written:]
