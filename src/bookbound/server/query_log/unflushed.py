"""Remembers unwritten entries in a locked file, so that the next process can count what a killed one lost."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from struct import Struct
from typing import NamedTuple
from uuid import UUID, uuid4

from bookbound.filesystem.private_files import create_private_folder, user_temp_folder
from bookbound.server.query_log.repository import LossReport, QueryLogRepository

PRIVATE_MODE = 0o600


class LockedFile:
    """A file that this process alone writes; what was written outlives the process, though not the machine."""

    def __init__(self, file: Path, words: bytes) -> None:
        self._file = file
        self._handle, self.size = _create_locked_file(file, os.O_EXCL, words), len(words)

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
        fresh = _replacement_path(self._file)
        handle = _create_locked_file(fresh, os.O_TRUNC, words)
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
                remove_locked_file(self._file)
        os.close(self._handle)


class UnlockedFile(NamedTuple):
    """A file that nobody holds, its words, and when they were last changed."""

    file: Path
    words: bytes
    changed: float


def find_unlocked_files(folder: Path, names: str) -> Iterator[UnlockedFile]:
    """Each file of such a name that nobody holds any more; it is held here until the next is asked for."""
    for file in sorted(folder.glob(names)):
        with suppress(OSError), _open_descriptor(file, os.O_RDWR | os.O_NOFOLLOW) as handle:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            found = os.fstat(handle)
            # One without a name was replaced or removed meanwhile; an empty one is about to be held.
            if found.st_nlink and found.st_size and found.st_uid == os.getuid():
                yield UnlockedFile(file, os.pread(handle, found.st_size, 0), found.st_mtime)


def remove_locked_file(file: Path) -> None:
    """Remove a file, and what a kill may have left half written beside it."""
    file.unlink(missing_ok=True)
    _replacement_path(file).unlink(missing_ok=True)


def _replacement_path(file: Path) -> Path:
    return file.with_name(f".{file.name}")


def _create_locked_file(file: Path, how: int, words: bytes) -> int:
    handle = os.open(file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | how, PRIVATE_MODE)
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
def _open_descriptor(file: Path, how: int) -> Iterator[int]:
    handle = os.open(file, how | os.O_CLOEXEC)
    try:
        yield handle
    finally:
        os.close(handle)


FILE_HEADER, ID_BYTES = Struct("<16sQ8x"), 16
"""A file begins with the id and the number of a loss; then come ids of entries."""
MAX_FILE_BYTES = FILE_HEADER.size + 8192 * ID_BYTES


@dataclass(frozen=True, slots=True)
class UnreportedEntries:
    """What is to be told: a loss, and entries that are either rows or lost as well."""

    loss: LossReport
    entries: frozenset[UUID]

    @property
    def most(self) -> int:
        """How many are lost if none of the entries is a row."""
        return self.loss.lost + len(self.entries)

    def __bool__(self) -> bool:
        return self.most > 0


class UnflushedEntries:
    """The entries that one process has noted, until they are rows or are told as lost.

    The loss and those ids in the file that are no rows are, at any moment, just what is lost if nothing more happens.
    Where no file can be written, only the process itself knows. One thread at a time may come here.
    """

    def __init__(self, place: Path, log: str) -> None:
        self._place, self._log = place, log
        self._begin()

    def _begin(self) -> None:
        self._file: LockedFile | None = None
        self._id, self.lost, self._entries = uuid4(), 0, set[UUID]()

    @property
    def loss(self) -> LossReport:
        return LossReport(self.lost, self._id)

    def add(self, entry: UUID) -> None:
        """An entry is noted."""
        with suppress(OSError):
            if self._file is None:
                self._file = self._made()
            elif self._file.size >= MAX_FILE_BYTES:
                self._file.replace(self._words())
            self._file.append(entry.bytes)
        self._entries.add(entry)

    def lose(self, entry: UUID) -> None:
        """An entry will never be a row; its id is left where it is, which says the same."""
        self._entries.discard(entry)
        self.lost += 1

    def left(self) -> UnreportedEntries:
        """What would have to be told if nothing more happened."""
        return UnreportedEntries(self.loss, frozenset(self._entries))

    def done(self, entries: Iterable[UUID], told: LossReport | None = None) -> None:
        """These entries are rows, or were told as lost, and so was this loss."""
        self._entries.difference_update(entries)
        with suppress(OSError):
            if told:
                # Where the file cannot be replaced, the loss goes on under its id, and is told again when it has grown.
                rest = LossReport(self.lost - told.lost)
                if self._file:
                    self._file.replace(self._words(rest))
                self._id, self.lost = rest.id, rest.lost
            elif self._file and not self._entries and not self.lost:
                self._file.cut(FILE_HEADER.size)

    def close(self) -> None:
        """Leave what is not told to whoever comes next."""
        if self._file:
            self._file.close(keep=bool(self.left()))
        self._begin()

    def _made(self) -> LockedFile:
        name = f"{_file_prefix(self._log)}{uuid4().hex}"
        try:
            return self._held(self._place / name)
        except OSError:
            return self._held(user_temp_folder() / name)

    def _held(self, file: Path) -> LockedFile:
        create_private_folder(file.parent)
        return LockedFile(file, self._words())

    def _words(self, loss: LossReport | None = None) -> bytes:
        loss = loss or self.loss
        return FILE_HEADER.pack(loss.id.bytes, loss.lost) + b"".join(entry.bytes for entry in self._entries)


def report_unflushed(place: Path, ledger: QueryLogRepository) -> int:
    """Tell what processes that are no more left untold of a log, and how many entries were lost with them."""
    return sum(ledger.settle(left.loss, left.entries) for left in take_unflushed(place, ledger.name))


def take_unflushed(place: Path, log: str) -> Iterator[UnreportedEntries]:
    """What processes that are no more left of one log; it is removed once the next is asked for."""
    for file, words, changed in _find_unflushed(place, log):
        yield parse_unflushed(words, changed)
        remove_locked_file(file)


def read_unflushed(place: Path, log: str) -> list[UnreportedEntries]:
    """The same as it is at this moment, and stays."""
    return [parse_unflushed(words, changed) for _, words, changed in _find_unflushed(place, log)]


def _find_unflushed(place: Path, log: str) -> Iterator[UnlockedFile]:
    for folder in (place, user_temp_folder()):
        yield from (
            found
            for found in find_unlocked_files(folder, f"{_file_prefix(log)}*")
            if len(found.words) >= FILE_HEADER.size
        )


def parse_unflushed(words: bytes, changed: float = 0.0) -> UnreportedEntries:
    """What a file says, which was last changed then."""
    loss, lost = FILE_HEADER.unpack_from(words)
    ids = (words[at : at + ID_BYTES] for at in range(FILE_HEADER.size, len(words) - ID_BYTES + 1, ID_BYTES))
    entries = frozenset(UUID(bytes=each) for each in ids)
    return UnreportedEntries(LossReport(lost, UUID(bytes=loss), datetime.fromtimestamp(changed, UTC)), entries)


def _file_prefix(log: str) -> str:
    return f"outstanding-{log}-"
