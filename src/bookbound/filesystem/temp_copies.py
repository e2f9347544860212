"""Makes temporary copies of files with their checksums, and removes copies that killed processes left."""

from __future__ import annotations

import errno
import fcntl
import hashlib
import os
import re
import shutil
import stat
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from bookbound import filesystem
from bookbound.filesystem import DiskFullError, report_copy_errors

BLOCK_BYTES = 1 << 16
MAX_DENSE_COPY_BYTES = 1 << 23
"""Up to this size a copy has no holes: Edge touches every page of such a file, and of larger ones only what is used."""
_ZERO_BLOCK = bytes(BLOCK_BYTES)


def checksum_file(path: Path, copy: Path | None = None) -> str:
    """A hash of a file's size and content, however its holes are stored; asked to, it copies in the same pass."""
    with path.open("rb", buffering=0) as source:
        size = os.fstat(source.fileno()).st_size
        found = hashlib.sha256(b"%d" % size)
        with _open_copy(copy, size) as put:
            for at, block in _data_blocks(source.fileno()):
                found.update(b"@%d:" % at + block)
                put(at, block)
    return found.hexdigest()


def list_folders(root: Path) -> list[Path]:
    """A folder and all folders in it, the outer before the inner."""
    return [root, *sorted(path for path in root.rglob("*") if path.is_dir())]


@contextmanager
def recreate_folders(names: Sequence[Path]) -> Iterator[None]:
    """For the length of a block, as far as may be, empty folders of these names; the first holds the others."""
    with suppress(OSError):
        for name in names:
            name.mkdir(mode=0o700)
    try:
        yield
    finally:
        for name in names[:1]:
            shutil.rmtree(name, ignore_errors=True)


@contextmanager
def _open_copy(target: Path | None, size: int) -> Iterator[Callable[[int, bytes], None]]:
    """What puts blocks where they belong in a new file of `size` bytes, or nowhere where there is none."""
    if target is None:
        yield lambda at, block: None
        return
    with filesystem.report_copy_errors():
        target.parent.mkdir(parents=True, exist_ok=True)
        copy = target.open("wb", buffering=0)

    def put(at: int, block: bytes) -> None:
        with filesystem.report_copy_errors():
            filesystem.write_at(copy.fileno(), block, at)

    with copy:
        if size <= MAX_DENSE_COPY_BYTES:
            put(0, bytes(size))
        else:
            with filesystem.report_copy_errors():
                copy.truncate(size)
        yield put


def _data_blocks(handle: int) -> Iterator[tuple[int, bytes]]:
    """The blocks of a file that hold more than zeros, each with where it begins."""
    at = 0
    while (at := _next_data_block(handle, at)) >= 0:
        block = os.pread(handle, BLOCK_BYTES, at)
        if not block:
            return
        if block != _ZERO_BLOCK[: len(block)]:
            yield at, block
        at += BLOCK_BYTES


def _next_data_block(handle: int, at: int) -> int:
    """The first block from `at` on that is no hole, or -1; a file system that knows no holes has none."""
    try:
        return os.lseek(handle, at, os.SEEK_DATA) // BLOCK_BYTES * BLOCK_BYTES
    except OSError as trouble:
        return -1 if trouble.errno == errno.ENXIO else at


MEMORY_FOLDER = Path("/dev/shm")
MIN_AGE_SECONDS = 10.0
"""For how many seconds a room counts as somebody's though nobody holds it: it is made before it is held."""
_FOLDER_PREFIX = "bookbound-reader-"
_FOLDER_NAME = re.compile(_FOLDER_PREFIX + "[a-z0-9_]{8}")


@contextmanager
def make_temp_copy(fill: Callable[[Path], None]) -> Iterator[Path]:
    """A folder that `fill` has filled, in the first place that has room for it; after the block it is gone."""
    places = _candidate_folders()
    for place in places:
        with ExitStack() as stack:
            try:
                room = stack.enter_context(_locked_temp_folder(place))
                fill(room)
            except DiskFullError:
                if place == places[-1]:
                    raise
                continue
            yield room
            return


def _candidate_folders() -> list[Path]:
    """Where a copy may go: into memory if the system has such a place and TMPDIR names no other, else to a disk."""
    with report_copy_errors():
        temporary = Path(tempfile.gettempdir())
    in_memory = "TMPDIR" not in os.environ and os.access(MEMORY_FOLDER, os.W_OK)
    return [MEMORY_FOLDER, temporary] if in_memory else [temporary]


@contextmanager
def _locked_temp_folder(place: Path) -> Iterator[Path]:
    """An empty folder, held for as long as its owner lives."""
    with report_copy_errors():
        _remove_abandoned(place)
        room = tempfile.TemporaryDirectory(prefix=_FOLDER_PREFIX, dir=place, ignore_cleanup_errors=True)
    with room as name:
        handle = os.open(name, os.O_RDONLY)
        try:
            with suppress(OSError):  # where nothing can be held, nothing is swept either
                fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
            yield Path(name)
        finally:
            os.close(handle)


def _remove_abandoned(place: Path) -> None:
    """Remove the rooms of readers of this user that were killed."""
    for entry in os.scandir(place):
        if _FOLDER_NAME.fullmatch(entry.name):
            with suppress(OSError):
                _remove_unless_locked(entry.path)


def _remove_unless_locked(room: str) -> None:
    handle = os.open(room, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        found = os.fstat(handle)
        mine = found.st_uid == os.geteuid() and stat.S_IMODE(found.st_mode) == 0o700
        if mine and time.time() - found.st_mtime > MIN_AGE_SECONDS:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(room, ignore_errors=True)
    finally:
        os.close(handle)
