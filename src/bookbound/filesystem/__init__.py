"""Writes files atomically, locks them, keeps them private, and measures disk space."""

from __future__ import annotations

import os
import secrets
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from bookbound.domain.errors import BookIndexError

TEMP_PREFIX = ".bookbound-new-"
"""Starts the name of a file that is still being written and will replace another."""
RESERVED_BYTES = 1 << 22
"""Always left free, for the small files that an engine writes by itself and for other programs."""


class DiskFullError(BookIndexError):
    """A disk has no room for an index or for a temporary copy of it."""


def write_atomically(path: Path, content: bytes, mode: int = 0o666) -> None:
    """Replaces a file so that a kill or another writer at any moment leaves either the old or the new content."""
    with open_atomically(path, mode) as file:
        file.write(content)


@contextmanager
def open_atomically(path: Path, mode: int = 0o666) -> Iterator[BinaryIO]:
    """Yields a new file that replaces `path` when the block ends without an error."""
    new = path.with_name(f"{TEMP_PREFIX}{os.urandom(8).hex()}")
    try:
        with os.fdopen(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode), "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        new.replace(path)
        sync_path(path.parent)
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(path)) from error
    finally:
        with suppress(OSError):
            new.unlink(missing_ok=True)


def sync_path(path: Path) -> None:
    """Waits until a file, or the list of names in a folder, is on the disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def sync_tree(folder: Path) -> None:
    """Waits until a folder and everything in it is on the disk, inner folders first."""
    for path in sorted(folder.rglob("*"), reverse=True):
        sync_path(path)
    sync_path(folder)


def free_bytes(place: Path | int) -> int:
    """Returns the free bytes on the disk of a folder or an open file; some file systems report no limit."""
    status = os.statvfs(place)
    return status.f_bavail * status.f_frsize if status.f_blocks else sys.maxsize


def disk_usage(folder: Path) -> int:
    """Returns the bytes that a folder's files take on the disk, which holes do not."""
    return sum(path.stat().st_blocks * 512 for path in folder.rglob("*") if path.is_file())


def try_lock(handle: int, *, shared: bool = False) -> bool:
    """Locks an open file or folder until it is closed, unless another process has locked it."""
    import fcntl  # Windows has none, and reads indexes on a Qdrant server without it

    try:
        fcntl.flock(handle, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


@contextmanager
def wait_for_lock(path: Path) -> Iterator[None]:
    """Runs the block while no other process holds the lock on this file, which is created if needed."""
    import fcntl

    handle = os.open(path, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def create_private_folder(folder: Path) -> None:
    """Creates a folder that only its owner can read and that version control ignores, unless it exists."""
    if not folder.exists():
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        (folder / ".gitignore").write_text("*\n")


def create_private_file(file: Path) -> None:
    """Creates an empty file that only its owner can read, unless it exists."""
    with suppress(FileExistsError):
        os.close(os.open(file, os.O_CREAT | os.O_EXCL | os.O_RDWR | os.O_CLOEXEC, 0o600))


def create_secret_file(file: Path) -> None:
    """Creates a private file of 32 random bytes, unless it exists."""
    new = file.with_name(f"{file.name}-{os.urandom(8).hex()}")
    create_private_file(new)
    try:
        new.write_bytes(secrets.token_bytes(32))
        with suppress(FileExistsError):
            os.link(new, file)  # in one step, and never over the key of a faster process
    finally:
        new.unlink()
