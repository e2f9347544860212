"""Files that must last, files that are mostly holes, and folders for a moment: what an index is made of."""

from __future__ import annotations

import errno
import hashlib
import os
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

BLOCK = 1 << 16
MEMORY = Path("/dev/shm")
_NOTHING = bytes(BLOCK)


def replace(path: Path, content: bytes) -> None:
    """Give `path` a content so that a kill at any moment leaves the old one or the new one, whole."""
    fresh = path.with_name(f"{path.name}.new")
    with fresh.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    fresh.replace(path)
    settle(path.parent)


def settle(path: Path) -> None:
    """Return once the disk holds this file, or the names in this folder."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def settle_tree(folder: Path) -> None:
    """Return once the disk holds all that is in `folder`, the inner before the outer."""
    for path in sorted(folder.rglob("*"), reverse=True):
        settle(path)
    settle(folder)


def fingerprint(path: Path, copy: Path | None = None) -> str:
    """A hash of a file's size and content, however its holes are stored; asked to, it copies in the same pass."""
    with path.open("rb", buffering=0) as source:
        size = os.fstat(source.fileno()).st_size
        found = hashlib.sha256(b"%d" % size)
        target = copy.open("wb") if copy else None
        try:
            for at, block in _blocks(source.fileno()):
                found.update(b"@%d:" % at + block)
                if target:
                    target.seek(at)
                    target.write(block)
            if target:
                target.truncate(size)
        finally:
            if target:
                target.close()
    return found.hexdigest()


def in_memory(size: int) -> Path | None:
    """Where `size` bytes can be kept without a disk, if the system has such a place and TMPDIR names no other."""
    if "TMPDIR" in os.environ or not os.access(MEMORY, os.W_OK) or shutil.disk_usage(MEMORY).free < size:
        return None
    return MEMORY


def folders(root: Path) -> list[Path]:
    """A folder and all folders in it, the outer before the inner."""
    return [root, *sorted(path for path in root.rglob("*") if path.is_dir())]


@contextmanager
def standing(names: Sequence[Path]) -> Iterator[None]:
    """For the length of a block, as far as may be, empty folders of these names; the first holds the others."""
    with suppress(OSError):
        for name in names:
            name.mkdir(mode=0o700)
    try:
        yield
    finally:
        for name in names[:1]:
            shutil.rmtree(name, ignore_errors=True)


def _blocks(handle: int) -> Iterator[tuple[int, bytes]]:
    """The blocks of a file that hold more than zeros, each with where it begins."""
    at = 0
    while (at := _data(handle, at)) >= 0:
        block = os.pread(handle, BLOCK, at)
        if not block:
            return
        if block != _NOTHING[: len(block)]:
            yield at, block
        at += BLOCK


def _data(handle: int, at: int) -> int:
    """The first block from `at` on that is no hole, or -1; a file system that knows no holes has none."""
    try:
        return os.lseek(handle, at, os.SEEK_DATA) // BLOCK * BLOCK
    except OSError as trouble:
        return -1 if trouble.errno == errno.ENXIO else at
