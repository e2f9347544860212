"""Entries that wait to be written, in a bounded queue, and the count of what became of all of them."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from threading import Condition
from time import monotonic

from bookbound.entry import Entry
from bookbound.record.ledger import Loss
from bookbound.record.outstanding import Left, Outstanding


class Waiting:
    """Where there is no more room the newest entry is lost; what was taken keeps its place.

    Any thread may note; one takes what waits, writes it, and says so.
    """

    def __init__(self, outstanding: Outstanding, room: int, batch: int, gather: float) -> None:
        self.noted = self.written = self.lost = 0
        self._outstanding = outstanding
        self._room, self._batch, self._gather = room, batch, gather
        self._entries: deque[Entry] = deque()
        self._changed = Condition()
        self._until: float | None = None
        self._settled = False

    @property
    def closing(self) -> bool:
        return self._until is not None

    @property
    def late(self) -> bool:
        """Whether the time to write what waits is over."""
        return self._until is not None and monotonic() >= self._until

    def note(self, entry: Entry) -> None:
        """Take an entry, without waiting for anybody who writes."""
        with self._changed:
            self.noted += 1
            self._outstanding.add(entry.id)
            if self.closing or len(self._entries) >= self._room:
                self._outstanding.lose(entry.id)
                self.lost += 1
                return
            self._entries.append(entry)
            if len(self._entries) in (1, self._batch):
                self._changed.notify()

    def next(self, seconds: float) -> list[Entry] | None:
        """The next batch, once there is one; none of it after so many seconds, nothing where all is done."""
        with self._changed:
            self._changed.wait_for(lambda: self._entries or self.closing, max(0.0, seconds))
            if self._entries:
                self._changed.wait_for(lambda: len(self._entries) >= self._batch or self.closing, self._gather)
            if self.late or (self.closing and not self._entries):
                return None
            return [self._entries.popleft() for _ in range(min(self._batch, len(self._entries)))]

    def rest(self, seconds: float) -> bool:
        """Wait before the next attempt, and say whether there is time for one; whoever closes ends the waiting."""
        with self._changed:
            if self._until is None:
                self._changed.wait_for(lambda: self.closing, seconds)
            else:
                self._changed.wait(max(0.0, min(seconds, self._until - monotonic())))
        return not self.late

    @property
    def loss(self) -> Loss | None:
        """What was lost and is not told, if anything was."""
        with self._changed:
            return self._outstanding.loss if self._outstanding.lost else None

    @property
    def left(self) -> Left:
        """What is neither written nor told."""
        with self._changed:
            return self._outstanding.left()

    def wrote(self, entries: Sequence[Entry], told: Loss | None = None) -> None:
        """Count what was taken and is written; once all is settled, that stands."""
        with self._changed:
            self._outstanding.done([entry.id for entry in entries], told)
            if not self._settled:
                self.written += len(entries)

    def lose(self, entry: Entry) -> None:
        """Count one that was taken and can never be written."""
        with self._changed:
            self._outstanding.lose(entry.id)
            if not self._settled:
                self.lost += 1

    def close(self, seconds: float) -> None:
        """From now on nothing is taken any more, and what waits has so many seconds to be written."""
        with self._changed:
            if self._until is None:
                self._until = monotonic() + seconds
            self._changed.notify()

    def settle(self) -> None:
        """Count as lost whatever is not known to be written."""
        with self._changed:
            self._settled = True
            self._entries.clear()
            self.lost = self.noted - self.written

    def leave(self, told: Left | None = None, rows: int = 0) -> None:
        """As the last thing, leave what is not told to others; of what is, some are rows though nobody said so."""
        with self._changed:
            if told:
                self._outstanding.done(told.entries, told.loss)
            if not self._settled:
                self.written += rows
            self._outstanding.close()
