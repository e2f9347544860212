"""Copies files into temporary folders, checks their content, and removes copies that killed processes left."""

from __future__ import annotations

import errno
import hashlib
import os
import re
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from bookbound import filesystem
from bookbound.filesystem import DiskFullError

BLOCK_BYTES = 1 << 16  # a multiple of the usual 4 KiB, so that a hole is skipped in whole blocks
MAX_DENSE_COPY_BYTES = 1 << 23
"""Copies up to this size have no holes: Edge touches every page of a small file, but only some pages of a large one."""
MEMORY_FOLDER = Path("/dev/shm")
_FOLDER_PREFIX = "bookbound-reader-"
_FOLDER_NAME = re.compile(_FOLDER_PREFIX + "[a-z0-9_]{8}")
_ZERO_BLOCK = bytes(BLOCK_BYTES)


def checksum_file(path: Path, copy: Path | None = None) -> str:
    """Returns a hash of a file's size and content, and copies the file in the same pass if asked to.

    Holes and stored zeros have the same hash.
    """
    with path.open("rb", buffering=0) as source, ExitStack() as stack:
        size = os.fstat(source.fileno()).st_size
        checksum = hashlib.sha256(b"%d" % size)
        target = stack.enter_context(_create_copy(copy, size)) if copy else None
        for at, block in _data_blocks(source.fileno()):
            checksum.update(b"@%d:" % at + block)
            if target is not None:
                _write_at(target, block, at)
    return checksum.hexdigest()


@contextmanager
def recreate_folders(folders: Sequence[Path]) -> Iterator[None]:
    """Tries to provide these empty folders during the block; the first contains the others."""
    with suppress(OSError):
        for folder in folders:
            folder.mkdir(mode=0o700)
    try:
        yield
    finally:
        if folders:
            shutil.rmtree(folders[0], ignore_errors=True)


@contextmanager
def make_temp_copy(fill: Callable[[Path], None]) -> Iterator[Path]:
    """Yields a temporary folder that `fill` has filled, in the first location that has room for it."""
    locations = _candidate_locations()
    for location in locations:
        with ExitStack() as stack:
            try:
                folder = stack.enter_context(_locked_temp_folder(location))
                fill(folder)
            except DiskFullError:
                if location == locations[-1]:
                    raise
                continue
            yield folder
            return


@contextmanager
def _create_copy(path: Path, size: int) -> Iterator[int]:
    with _report_copy_errors():
        path.parent.mkdir(parents=True, exist_ok=True)
        copy = path.open("wb", buffering=0)
    with copy:
        if size <= MAX_DENSE_COPY_BYTES:
            _write_at(copy.fileno(), bytes(size), 0)
        else:
            with _report_copy_errors():
                copy.truncate(size)
        yield copy.fileno()


def _write_at(handle: int, content: bytes, at: int) -> None:
    """Writes all of the content or none of it, and never into the reserved space."""
    with _report_copy_errors():
        if filesystem.free_bytes(handle) < len(content) + filesystem.RESERVED_BYTES:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        os.lseek(handle, at, os.SEEK_SET)
        while content:
            content = content[os.write(handle, content) :]


def _data_blocks(handle: int) -> Iterator[tuple[int, bytes]]:
    """Yields the offset and content of each block that is not all zeros."""
    at = 0
    while (at := _next_data_block(handle, at)) >= 0:
        os.lseek(handle, at, os.SEEK_SET)
        if not (block := os.read(handle, BLOCK_BYTES)):
            return
        if block != _ZERO_BLOCK[: len(block)]:
            yield at, block
        at += BLOCK_BYTES


def _next_data_block(handle: int, at: int) -> int:
    """Returns the offset of the next block that is not a hole, or -1; even a small index has 100 MB of holes."""
    if sys.platform == "win32":
        return at
    try:
        return os.lseek(handle, at, os.SEEK_DATA) // BLOCK_BYTES * BLOCK_BYTES
    except OSError as error:
        return -1 if error.errno == errno.ENXIO else at  # a file system without support for holes has none


def _candidate_locations() -> list[Path]:
    """Returns memory, if the system offers it and TMPDIR is not set, then the folder for temporary files."""
    with _report_copy_errors():
        temporary = Path(tempfile.gettempdir())
    in_memory = "TMPDIR" not in os.environ and os.access(MEMORY_FOLDER, os.W_OK)
    return [MEMORY_FOLDER, temporary] if in_memory else [temporary]


@contextmanager
def _locked_temp_folder(location: Path) -> Iterator[Path]:
    """Yields an empty folder, locked so that other processes see that its owner is alive."""
    with _report_copy_errors():
        filesystem.remove_abandoned(location, _FOLDER_NAME, folders=True)
        folder = tempfile.TemporaryDirectory(prefix=_FOLDER_PREFIX, dir=location, ignore_cleanup_errors=True)
    with folder as name:
        if sys.platform == "win32":  # which cannot lock a folder
            yield Path(name)
            return
        handle = os.open(name, os.O_RDONLY)
        try:
            with suppress(OSError):  # a file system without locks also never removes abandoned folders
                filesystem.try_lock(handle, shared=True)
            yield Path(name)
        finally:
            os.close(handle)


@contextmanager
def _report_copy_errors() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise DiskFullError(
            f"The index could not be copied for reading ({error.strerror}). "
            "Make room in the folder for temporary files, or name another folder in TMPDIR."
        ) from error
