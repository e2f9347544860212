"""Files that must last, files that are mostly holes, and folders for a moment: what an index is made of."""

from __future__ import annotations

import errno
import hashlib
import os
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from bookbound.errors import IndexTrouble
from bookbound.store import space

BLOCK = 1 << 16
SMALL = 1 << 23
"""Up to this size a copy has no holes: Edge touches every page of such a file, and of larger ones only what is used."""
_NOTHING = bytes(BLOCK)
FRESH = ".bookbound-new-"
"""How the name of a file begins that is still being written and will take the place of another."""


def replace(path: Path, content: bytes, mode: int = 0o666) -> None:
    """Give `path` a content so that a kill, or another writer, at any moment leaves one of the contents, whole."""
    with replacing(path, mode) as file:
        file.write(content)


@contextmanager
def replacing(path: Path, mode: int = 0o666) -> Iterator[BinaryIO]:
    """The same for a content that is written bit by bit: it takes its place when this block has come to its end."""
    fresh = path.with_name(f"{FRESH}{os.urandom(8).hex()}")
    try:
        with os.fdopen(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode), "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        fresh.replace(path)
        settle(path.parent)
    except OSError as trouble:
        raise OSError(trouble.errno, trouble.strerror, str(path)) from trouble
    finally:
        with suppress(OSError):
            fresh.unlink(missing_ok=True)


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


def taken(folder: Path) -> int:
    """The bytes that the files in `folder` take of their disk."""
    return sum(path.stat().st_blocks * 512 for path in folder.rglob("*"))


def fingerprint(path: Path, copy: Path | None = None) -> str:
    """A hash of a file's size and content, however its holes are stored; asked to, it copies in the same pass."""
    with path.open("rb", buffering=0) as source:
        size = os.fstat(source.fileno()).st_size
        found = hashlib.sha256(b"%d" % size)
        with _copying(copy, size) as put:
            for at, block in _blocks(source.fileno()):
                found.update(b"@%d:" % at + block)
                put(at, block)
    return found.hexdigest()


@contextmanager
def writing() -> Iterator[None]:
    """Within this block a failure is one of the index's own folder."""
    try:
        yield
    except OSError as trouble:
        raise IndexTrouble(
            f"The index could not be written ({trouble.strerror}). Check its folder and disk, then try again."
        ) from trouble


def ensure_room(folder: Path, size: int) -> None:
    """Refuse to write into `folder` where its disk has no room for `size` bytes."""
    need = size + space.SPARE
    with writing():
        if space.free(folder) < need:
            raise space.NoRoom(
                f"The index could not be written: its disk has no room for another {need / 1e6:.0f} MB. "
                "Make room there, or choose another folder: --index DIR"
            )


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


@contextmanager
def _copying(target: Path | None, size: int) -> Iterator[Callable[[int, bytes], None]]:
    """What puts blocks where they belong in a new file of `size` bytes, or nowhere where there is none."""
    if target is None:
        yield lambda at, block: None
        return
    with space.copying():
        target.parent.mkdir(parents=True, exist_ok=True)
        copy = target.open("wb", buffering=0)

    def put(at: int, block: bytes) -> None:
        with space.copying():
            space.put(copy.fileno(), block, at)

    with copy:
        if size <= SMALL:
            put(0, bytes(size))
        else:
            with space.copying():
                copy.truncate(size)
        yield put


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
