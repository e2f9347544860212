"""Writes files atomically, locks them, keeps them private, and measures disk space."""

from __future__ import annotations

import os
import re
import secrets
import shutil
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from time import monotonic, sleep, time
from typing import BinaryIO, cast

from bookbound.domain.errors import BookIndexError

TEMP_PREFIX = ".bookbound-new-"
"""Starts the name of a file that is still being written and will replace another."""
ABANDONED_SECONDS = 10.0
"""Younger files and folders are never removed: a process creates its own shortly before it locks it."""
_TEMP_NAME = re.compile(re.escape(TEMP_PREFIX) + "[0-9a-f]{16}")
RESERVED_BYTES = 1 << 22
"""Always left free, for the small files that an engine writes by itself and for other programs."""
REPLACE_SECONDS = 2.0  # how long Windows is asked to replace a file that others are reading
PAUSE_SECONDS = 0.02  # between two attempts
WINDOWS_LOCK_OFFSET = 1 << 30
"""Windows locks bytes, and nobody else can read them: these are after the content."""


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
    remove_abandoned(path.parent, _TEMP_NAME)
    try:
        with os.fdopen(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "wb") as file:
            with suppress(OSError, ImportError):  # without locks, abandoned files stay
                try_lock(file.fileno())
            yield cast(BinaryIO, file)
            file.flush()
            os.fsync(file.fileno())
        _replace_file(new, path)
        sync_path(path.parent)
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(path)) from error
    finally:
        with suppress(OSError):
            new.unlink(missing_ok=True)


def _replace_file(new: Path, path: Path) -> None:
    """Replaces a file in one step; Windows refuses while somebody reads the old one, which takes a moment."""
    deadline = monotonic() + REPLACE_SECONDS
    while sys.platform == "win32" and monotonic() < deadline:
        with suppress(PermissionError):
            new.replace(path)
            return
        sleep(PAUSE_SECONDS)
    new.replace(path)


def remove_abandoned(folder: Path, names: re.Pattern[str], *, folders: bool = False) -> None:
    """Removes the files with such names, or the private folders, of processes that were killed."""
    with suppress(OSError):
        for path in [path for path in folder.iterdir() if names.fullmatch(path.name)]:
            with suppress(OSError, ImportError):  # on Windows, which cannot open a folder, it stays
                _remove_unless_locked(path, getattr(os, "O_DIRECTORY", 0) if folders else 0)


def _remove_unless_locked(path: Path, kind: int) -> None:
    handle = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | kind)
    try:
        status = os.fstat(handle)
        if time() - status.st_mtime <= ABANDONED_SECONDS or not try_lock(handle):
            return
        if not kind:
            path.unlink()
        elif sys.platform != "win32" and status.st_uid == os.geteuid() and stat.S_IMODE(status.st_mode) == 0o700:
            shutil.rmtree(path, ignore_errors=True)
    finally:
        os.close(handle)


def sync_path(path: Path) -> None:
    """Waits until a file, or the list of names in a folder, is on the disk; Windows does the second by itself."""
    if sys.platform == "win32" and path.is_dir():
        return
    handle = os.open(path, os.O_RDWR if sys.platform == "win32" else os.O_RDONLY)
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
    if sys.platform == "win32":  # which says it for a folder only; a full disk still is an error of the writing
        return shutil.disk_usage(place).free if isinstance(place, Path) else sys.maxsize
    status = os.statvfs(place)
    return status.f_bavail * status.f_frsize if status.f_blocks else sys.maxsize


def disk_usage(folder: Path) -> int:
    """Returns the bytes that a folder's files take on the disk, which holes do not, except on Windows."""
    files = [path.stat() for path in folder.rglob("*") if path.is_file()]
    if sys.platform == "win32":
        return sum(file.st_size for file in files)
    return sum(file.st_blocks * 512 for file in files)


def try_lock(handle: int, *, shared: bool = False) -> bool:
    """Locks an open file or folder until it is closed, unless another process has locked it.

    On Windows it locks files only, and a shared lock excludes every other one too.
    """
    if sys.platform == "win32":
        return _try_lock_on_windows(handle)
    import fcntl

    try:
        fcntl.flock(handle, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _try_lock_on_windows(handle: int) -> bool:
    if sys.platform != "win32":
        raise NotImplementedError
    import msvcrt

    position = os.lseek(handle, 0, os.SEEK_CUR)
    os.lseek(handle, WINDOWS_LOCK_OFFSET, os.SEEK_SET)
    try:
        msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
    except PermissionError:
        return False
    finally:
        os.lseek(handle, position, os.SEEK_SET)
    return True


@contextmanager
def wait_for_lock(path: Path) -> Iterator[None]:
    """Runs the block while no other process holds the lock on this file, which is created if needed."""
    handle = os.open(path, os.O_CREAT | os.O_RDWR, 0o600)
    try:
        if sys.platform == "win32":
            while not _try_lock_on_windows(handle):
                sleep(PAUSE_SECONDS)
        else:
            import fcntl

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
        os.close(os.open(file, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))


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
