"""Entries that were noted and of which nothing is told yet, by their ids in a file: a kill loses no count of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from struct import Struct
from uuid import UUID, uuid4

from bookbound.record import held
from bookbound.record.folder import make, passing
from bookbound.record.held import Held
from bookbound.record.ledger import Ledger, Loss

HEAD, ID = Struct("<16sQ8x"), 16
"""A file begins with the id and the number of a loss; then come ids of entries."""
LONGEST = HEAD.size + 8192 * ID


@dataclass(frozen=True, slots=True)
class Left:
    """What is to be told: a loss, and entries that are either rows or lost as well."""

    loss: Loss
    entries: frozenset[UUID]

    @property
    def most(self) -> int:
        """How many are lost if none of the entries is a row."""
        return self.loss.lost + len(self.entries)

    def __bool__(self) -> bool:
        return self.most > 0


class Outstanding:
    """The entries that one process has noted, until they are rows or are told as lost.

    The loss and those ids in the file that are no rows are, at any moment, just what is lost if nothing more happens.
    Where no file can be written, only the process itself knows. One thread at a time may come here.
    """

    def __init__(self, place: Path, log: str) -> None:
        self._place, self._log = place, log
        self._begin()

    def _begin(self) -> None:
        self._file: Held | None = None
        self._id, self.lost, self._entries = uuid4(), 0, set[UUID]()

    @property
    def loss(self) -> Loss:
        return Loss(self.lost, self._id)

    def add(self, entry: UUID) -> None:
        """An entry is noted."""
        with suppress(OSError):
            if self._file is None:
                self._file = self._made()
            elif self._file.size >= LONGEST:
                self._file.replace(self._words())
            self._file.append(entry.bytes)
        self._entries.add(entry)

    def lose(self, entry: UUID) -> None:
        """An entry will never be a row; its id is left where it is, which says the same."""
        self._entries.discard(entry)
        self.lost += 1

    def left(self) -> Left:
        """What would have to be told if nothing more happened."""
        return Left(self.loss, frozenset(self._entries))

    def done(self, entries: Iterable[UUID], told: Loss | None = None) -> None:
        """These entries are rows, or were told as lost, and so was this loss."""
        self._entries.difference_update(entries)
        with suppress(OSError):
            if told:
                # Where the file cannot be replaced, the loss goes on under its id, and is told again when it has grown.
                rest = Loss(self.lost - told.lost)
                if self._file:
                    self._file.replace(self._words(rest))
                self._id, self.lost = rest.id, rest.lost
            elif self._file and not self._entries and not self.lost:
                self._file.cut(HEAD.size)

    def close(self) -> None:
        """Leave what is not told to whoever comes next."""
        if self._file:
            self._file.close(keep=bool(self.left()))
        self._begin()

    def _made(self) -> Held:
        name = f"{_prefix(self._log)}{uuid4().hex}"
        try:
            return self._held(self._place / name)
        except OSError:
            return self._held(passing() / name)

    def _held(self, file: Path) -> Held:
        make(file.parent)
        return Held(file, self._words())

    def _words(self, loss: Loss | None = None) -> bytes:
        loss = loss or self.loss
        return HEAD.pack(loss.id.bytes, loss.lost) + b"".join(entry.bytes for entry in self._entries)


def recover(place: Path, ledger: Ledger) -> int:
    """Tell what processes that are no more left untold of a log, and how many entries were lost with them."""
    return sum(ledger.settle(left.loss, left.entries) for left in abandoned(place, ledger.name))


def abandoned(place: Path, log: str) -> Iterator[Left]:
    """What processes that are no more left of one log; it is removed once the next is asked for."""
    for file, words, changed in _abandoned(place, log):
        yield left_in(words, changed)
        held.remove(file)


def untold(place: Path, log: str) -> list[Left]:
    """The same as it is at this moment, and stays."""
    return [left_in(words, changed) for _, words, changed in _abandoned(place, log)]


def _abandoned(place: Path, log: str) -> Iterator[held.Found]:
    for folder in (place, passing()):
        yield from (found for found in held.abandoned(folder, f"{_prefix(log)}*") if len(found.words) >= HEAD.size)


def left_in(words: bytes, changed: float = 0.0) -> Left:
    """What a file says, which was last changed then."""
    loss, lost = HEAD.unpack_from(words)
    ids = (words[at : at + ID] for at in range(HEAD.size, len(words) - ID + 1, ID))
    entries = frozenset(UUID(bytes=each) for each in ids)
    return Left(Loss(lost, UUID(bytes=loss), datetime.fromtimestamp(changed, UTC)), entries)


def _prefix(log: str) -> str:
    return f"outstanding-{log}-"
