"""Writes files atomically and checks that the disk has room."""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from bookbound.domain.errors import BookIndexError

RESERVED_BYTES = 1 << 22
"""What is always left free, for the little that an engine writes beside what it is given, and for others."""


class DiskFullError(BookIndexError):
    """A disk has no room for an index, or for a copy of it."""


def free_bytes(place: Path | int) -> int:
    """The bytes that may still be taken on the disk of a folder or an open file; some name no end."""
    found = os.statvfs(place)
    return found.f_bavail * found.f_frsize if found.f_blocks else sys.maxsize


@contextmanager
def report_copy_errors() -> Iterator[None]:
    """Within this block a failure is one of the place for a copy."""
    try:
        yield
    except OSError as trouble:
        raise DiskFullError(
            f"The index could not be copied for reading ({trouble.strerror}). "
            "Make room in the folder for temporary files, or name another in TMPDIR."
        ) from trouble


def write_at(handle: int, content: bytes, at: int) -> None:
    """Write into a file, all or nothing of it, and never into what is to be left free."""
    if free_bytes(handle) < len(content) + RESERVED_BYTES:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    while content:
        written = os.pwrite(handle, content, at)
        at, content = at + written, content[written:]


TEMP_PREFIX = ".bookbound-new-"
"""How the name of a file begins that is still being written and will take the place of another."""


def write_atomically(path: Path, content: bytes, mode: int = 0o666) -> None:
    """Give `path` a content so that a kill, or another writer, at any moment leaves one of the contents, whole."""
    with open_atomically(path, mode) as file:
        file.write(content)


@contextmanager
def open_atomically(path: Path, mode: int = 0o666) -> Iterator[BinaryIO]:
    """The same for a content that is written bit by bit: it takes its place when this block has come to its end."""
    fresh = path.with_name(f"{TEMP_PREFIX}{os.urandom(8).hex()}")
    try:
        with os.fdopen(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode), "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        fresh.replace(path)
        sync_path(path.parent)
    except OSError as trouble:
        raise OSError(trouble.errno, trouble.strerror, str(path)) from trouble
    finally:
        with suppress(OSError):
            fresh.unlink(missing_ok=True)


def sync_path(path: Path) -> None:
    """Return once the disk holds this file, or the names in this folder."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def sync_tree(folder: Path) -> None:
    """Return once the disk holds all that is in `folder`, the inner before the outer."""
    for path in sorted(folder.rglob("*"), reverse=True):
        sync_path(path)
    sync_path(folder)


def disk_usage(folder: Path) -> int:
    """The bytes that the files in `folder` take of their disk."""
    return sum(path.stat().st_blocks * 512 for path in folder.rglob("*"))


@contextmanager
def report_write_errors() -> Iterator[None]:
    """Within this block a failure is one of the index's own folder."""
    try:
        yield
    except OSError as trouble:
        raise BookIndexError(
            f"The index could not be written ({trouble.strerror}). Check its folder and disk, then try again."
        ) from trouble


def check_free_space(folder: Path, size: int) -> None:
    """Refuse to write into `folder` where its disk has no room for `size` bytes."""
    need = size + RESERVED_BYTES
    with report_write_errors():
        if free_bytes(folder) < need:
            raise DiskFullError(
                f"The index could not be written: its disk has no room for another {need / 1e6:.0f} MB. "
                "Make room there, or choose another folder: --index DIR"
            )
