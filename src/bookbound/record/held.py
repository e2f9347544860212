"""Files that a process holds for as long as it lives: whoever comes after a kill can tell that it is gone."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

PRIVATE = 0o600


class Held:
    """A file that this process alone writes; what was written outlives the process, though not the machine."""

    def __init__(self, file: Path, words: bytes) -> None:
        self._file = file
        self._handle, self.size = _locked(file, os.O_EXCL, words), len(words)

    def append(self, words: bytes) -> None:
        """Add some words; what a full disk took half of is written over by the next."""
        if os.pwrite(self._handle, words, self.size) == len(words):
            self.size += len(words)

    def cut(self, size: int) -> None:
        """Keep the beginning alone."""
        os.ftruncate(self._handle, size)
        self.size = size

    def replace(self, words: bytes) -> None:
        """Hold these words instead: whenever it is killed, the file has the old ones or the new ones."""
        fresh = _fresh(self._file)
        handle = _locked(fresh, os.O_TRUNC, words)
        try:
            fresh.replace(self._file)
        except OSError:
            os.close(handle)
            raise
        os.close(self._handle)
        self._handle, self.size = handle, len(words)

    def close(self, *, keep: bool) -> None:
        """Hold it no longer, and leave it to others or to nobody."""
        if not keep:
            with suppress(OSError):
                remove(self._file)
        os.close(self._handle)


class Found(NamedTuple):
    """A file that nobody holds, its words, and when they were last changed."""

    file: Path
    words: bytes
    changed: float


def abandoned(folder: Path, names: str) -> Iterator[Found]:
    """Each file of such a name that nobody holds any more; it is held here until the next is asked for."""
    for file in sorted(folder.glob(names)):
        with suppress(OSError), _opened(file, os.O_RDWR | os.O_NOFOLLOW) as handle:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            found = os.fstat(handle)
            # One without a name was replaced or removed meanwhile; an empty one is about to be held.
            if found.st_nlink and found.st_size and found.st_uid == os.getuid():
                yield Found(file, os.pread(handle, found.st_size, 0), found.st_mtime)


def remove(file: Path) -> None:
    """Remove a file, and what a kill may have left half written beside it."""
    file.unlink(missing_ok=True)
    _fresh(file).unlink(missing_ok=True)


def _fresh(file: Path) -> Path:
    return file.with_name(f".{file.name}")


def _locked(file: Path, how: int, words: bytes) -> int:
    handle = os.open(file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | how, PRIVATE)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)  # somebody may be looking whether it is abandoned, for a moment
        if os.pwrite(handle, words, 0) < len(words):
            raise OSError("no room")
    except OSError:
        os.close(handle)
        file.unlink(missing_ok=True)
        raise
    return handle


@contextmanager
def _opened(file: Path, how: int) -> Iterator[int]:
    handle = os.open(file, how | os.O_CLOEXEC)
    try:
        yield handle
    finally:
        os.close(handle)
