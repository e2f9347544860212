"""Rooms for copies: in memory or among the temporary files, for the length of a block, and cleared of dead readers'."""

from __future__ import annotations

import fcntl
import os
import re
import shutil
import stat
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from bookbound.store.space import NoRoom, copying

MEMORY = Path("/dev/shm")
A_WHILE = 10.0
"""For how many seconds a room counts as somebody's though nobody holds it: it is made before it is held."""
_PREFIX = "bookbound-reader-"
_NAME = re.compile(_PREFIX + "[a-z0-9_]{8}")


@contextmanager
def filled(fill: Callable[[Path], None]) -> Iterator[Path]:
    """A folder that `fill` has filled, in the first place that has room for it; after the block it is gone."""
    places = _places()
    for place in places:
        with ExitStack() as stack:
            try:
                room = stack.enter_context(_room(place))
                fill(room)
            except NoRoom:
                if place == places[-1]:
                    raise
                continue
            yield room
            return


def _places() -> list[Path]:
    """Where a copy may go: into memory if the system has such a place and TMPDIR names no other, else to a disk."""
    with copying():
        temporary = Path(tempfile.gettempdir())
    in_memory = "TMPDIR" not in os.environ and os.access(MEMORY, os.W_OK)
    return [MEMORY, temporary] if in_memory else [temporary]


@contextmanager
def _room(place: Path) -> Iterator[Path]:
    """An empty folder, held for as long as its owner lives."""
    with copying():
        _sweep(place)
        room = tempfile.TemporaryDirectory(prefix=_PREFIX, dir=place, ignore_cleanup_errors=True)
    with room as name:
        handle = os.open(name, os.O_RDONLY)
        try:
            with suppress(OSError):  # where nothing can be held, nothing is swept either
                fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
            yield Path(name)
        finally:
            os.close(handle)


def _sweep(place: Path) -> None:
    """Remove the rooms of readers of this user that were killed."""
    for entry in os.scandir(place):
        if _NAME.fullmatch(entry.name):
            with suppress(OSError):
                _remove_unless_held(entry.path)


def _remove_unless_held(room: str) -> None:
    handle = os.open(room, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        found = os.fstat(handle)
        mine = found.st_uid == os.geteuid() and stat.S_IMODE(found.st_mode) == 0o700
        if mine and time.time() - found.st_mtime > A_WHILE:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(room, ignore_errors=True)
    finally:
        os.close(handle)
